-- What failed jobs say, small fields and the beginnings of long ones, as many jobs as a budget of bytes allows.
-- KEYS: the sorted set of failed jobs or nothing (ARGV[1] = "1" or "0"), then the hash of each job.
-- ARGV: whether there is a set, budget in bytes, then the most to give back of name, reason and stack, then the id of
-- each job where there is a set.
-- For each job back, until the budget is spent (one at least): false where it is not in the set, else a row of its
-- score (false without a set), and unless its hash is gone or none: name, reason, length of the reason, the newest
-- stack as JSON within its quotes, how many stacks there are (-1 = not counted), worker, atm, attemptsMade, timestamp.
-- A field that is too long to be touched is false, and so is a stack that stands in no list of strings.
local set, budget = ARGV[1] == "1", tonumber(ARGV[2])
local stack_cap, LONG = tonumber(ARGV[5]), 1310720  -- 20 stacks of 50 KB; touching 2 MB takes 6 ms of Redis 7
local NAMES = {"name", "failedReason", "stacktrace", "pb", "atm", "attemptsMade", "timestamp"}
local CAPS = {tonumber(ARGV[3]), tonumber(ARGV[4]), LONG, tonumber(ARGV[3]), 24, 24, 24}
local LONGEST = {65536, 1048576, LONG, 65536, 24, 24, 24}
local TRIES = 1000

-- The last place at which `between` stands, before the quote at the end; nil = none. Who writes thousands of them
-- into one stack gets a place before the last, and what begins there is no string.
local function last_of(text, between)
  local found, tries, last = nil, 0, #text - #between
  local place = string.find(text, between, 1, true)
  while place and place <= last and tries < TRIES do
    found, tries = place, tries + 1
    place = string.find(text, between, place + 1, true)
  end
  return found
end

-- The newest of a list of stacks, which is its last, and how many there are. Looks from the end in growing steps:
-- a quote within a string is escaped, so that where the last `","` stands the last string begins.
local function newest(text)
  local last = #text - 1
  if last < 3 or string.sub(text, -2) ~= '"]' or string.sub(text, 1, 2) ~= '["' then return false, 0 end
  local begin, stacks, from, step = nil, -1, last, 8192
  repeat
    from, step = math.max(last - step, 2), step * 4
    local window = string.sub(text, from, last)
    for _, between in ipairs({'","', '", "'}) do
      local place = last_of(window, between)
      if place then begin = math.max(begin or 0, from + place - 1 + #between) end
    end
  until begin or from == 2
  if not begin then begin, stacks = 3, 1 end
  return string.sub(text, begin, math.min(begin + stack_cap, last) - 1), stacks
end

local function cut(key, field, length)
  if length > LONGEST[field] then return false end
  local value = redis.call("HGET", key, NAMES[field])
  return value and string.sub(value, 1, CAPS[field])
end

-- The lengths of the fields, how many bytes that touches, and whether all are short; nil where it is no hash.
local function measured(key)
  local lengths, total, short = {}, 0, true
  for i, name in ipairs(NAMES) do
    local length = redis.pcall("HSTRLEN", key, name)
    if type(length) ~= "number" then return nil end
    lengths[i] = length
    total = total + math.min(length, LONGEST[i])
    if length > CAPS[i] then short = false end
  end
  return lengths, total, short
end

local function read(key, score, lengths, short)
  local values
  if short then
    values = redis.call("HMGET", key, unpack(NAMES))
  else
    values = {}
    for i = 1, #NAMES do values[i] = cut(key, i, lengths[i]) end
  end
  local stack, stacks = false, 0
  if values[3] then stack, stacks = newest(values[3]) end
  return {score, values[1], values[2], lengths[2], stack, stacks, values[4], values[5], values[6], values[7]}
end

local results, spent, first = {}, 0, set and 2 or 1
for at = first, #KEYS do
  local score = set and redis.pcall("ZSCORE", KEYS[1], ARGV[at + 4])
  if set and type(score) ~= "string" then
    results[#results + 1] = false
  else
    local lengths, total, short = measured(KEYS[at])
    if lengths and spent > 0 and spent + total > budget then break end
    if not lengths or (total == 0 and redis.call("EXISTS", KEYS[at]) == 0) then
      results[#results + 1] = {score}
    else
      spent = spent + total
      results[#results + 1] = read(KEYS[at], score, lengths, short)
    end
  end
end
return results
