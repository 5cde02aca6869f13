-- What schedules say, and the jobs of their next runs. KEYS: for each queue its delayed, prioritized, completed,
-- failed, waiting-children, active, wait, paused; then for each schedule its hash and the hash of the job.
-- ARGV: budget of effort (bytes of data; five for each entry of a list) after which the script ends (one schedule at
-- least), the longest data to make a digest of, the longest options of a job to give back, the longest number and the
-- longest text of a schedule, how many entries of a list to look at from each end, how many queues; then for each
-- schedule the number of its queue and the id of the job.
-- For each schedule back: 1 (a hash), 0 (none) or -1 (another type); its fields in the order of NAMES (false = none, a
-- number = that long, not read); length of data, length of opts, digest or false; then of the job: 1, 0 or -1 as
-- above, its place (false = none, a number as in KEYS, negative = lists are too long to tell, this is likely), its
-- options (false, or a number as above). A job without a hash is looked for among the delayed only.
local NAMES = {"name", "pattern", "tz", "every", "offset", "startDate", "endDate", "limit", "ic", "data", "opts"}
local SHOWN = 9
local FEW, SMALL = 20, 32768  -- fields, and bytes, of a hash that is read at once
local budget, digest_cap, opts_cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local number_cap, text_cap = tonumber(ARGV[4]), tonumber(ARGV[5])
local LONGEST = {
  text_cap, text_cap, text_cap, number_cap, number_cap, number_cap, number_cap, number_cap, number_cap, digest_cap, 0,
}  -- of options the length will do
local bound, queues = tonumber(ARGV[6]), tonumber(ARGV[7])
local SETS, KEPT = 5, 8  -- of the keys of a queue
local spent = 0

local function digest(value)
  spent = spent + #value
  return redis.sha1hex(value)
end

-- Whether all that a hash holds is known to be short: most are, and one call tells what else takes a dozen.
local function small(key, number)
  if number > FEW then return false end
  local bytes = redis.pcall("MEMORY", "USAGE", key, "SAMPLES", FEW)
  return type(bytes) == "number" and bytes <= SMALL
end

local function measured(key)
  local lengths = {}
  for i, name in ipairs(NAMES) do lengths[i] = redis.call("HSTRLEN", key, name) end
  return lengths
end

-- The fields, each false or a number where it was not read, and their lengths; nil where it is no hash.
local function fields(key)
  local number = redis.pcall("HLEN", key)
  if type(number) ~= "number" then return nil end
  if number == 0 then return {}, {} end
  if small(key, number) then
    local all, by, values, lengths = redis.call("HGETALL", key), {}, {}, {}
    for i = 1, #all, 2 do by[all[i]] = all[i + 1] end
    for i, name in ipairs(NAMES) do
      local value = by[name] or false
      lengths[i] = value and #value or 0
      values[i] = lengths[i] > LONGEST[i] and lengths[i] or value
    end
    return values, lengths
  end
  local lengths, values, wanted, places = measured(key), {}, {}, {}
  for i, length in ipairs(lengths) do
    values[i] = length > 0 and length or false
    if length <= LONGEST[i] then wanted[#wanted + 1], places[#places + 1] = NAMES[i], i end
  end
  if #wanted > 0 then
    local found = redis.call("HMGET", key, unpack(wanted))
    for w = 1, #wanted do values[places[w]] = found[w] end
  end
  return values, lengths
end

local function template(key, row)
  local values, lengths = fields(key)
  if not values then
    row[1] = -1
    return false
  end
  if #lengths == 0 then return false end
  row[1] = 1
  for i = 1, SHOWN do row[1 + i] = values[i] end
  row[11], row[12] = lengths[10], lengths[11]
  if type(values[10]) == "string" then row[13] = digest(values[10]) end
  return lengths[10] > 0
end

local function job(key, row, with_data)
  local length = redis.pcall("HSTRLEN", key, "opts")
  if type(length) ~= "number" then
    row[14] = -1
    return
  end
  row[14] = (length > 0 or redis.call("EXISTS", key) == 1) and 1 or 0
  if length > opts_cap then
    row[16] = length
  elseif length > 0 then
    row[16] = redis.call("HGET", key, "opts")
    spent = spent + length
  end
  if with_data and row[14] == 1 then
    local size = redis.call("HSTRLEN", key, "data")
    if size > 0 and size <= digest_cap then row[13] = digest(redis.call("HGET", key, "data")) end
  end
end

-- Whether a list holds the job: true, false, or nil where it is too long to tell.
local function listed(key, id)
  local length = redis.pcall("LLEN", key)
  if type(length) ~= "number" or length == 0 then return false end
  spent = spent + 5 * math.min(length, 2 * bound)
  local at = redis.pcall("LPOS", key, id, "MAXLEN", bound)
  if not at and length > bound then at = redis.pcall("LPOS", key, id, "RANK", -1, "MAXLEN", bound) end
  if type(at) == "number" then return true end
  if at or length > 2 * bound then return nil end
  return false
end

local function place(queue, id, exists)
  local before, likely = (queue - 1) * KEPT, false
  for i = 1, exists and SETS or 1 do
    if type(redis.pcall("ZSCORE", KEYS[before + i], id)) == "string" then return i end
  end
  for i = SETS + 1, exists and KEPT or 0 do
    local found = listed(KEYS[before + i], id)
    if found then return i end
    if found == nil then likely = -i end
  end
  return likely
end

local results, first, number = {}, queues * KEPT + 1, 8
while first <= #KEYS and spent <= budget do
  local row = {}
  for i = 1, 16 do row[i] = false end
  row[1], row[11], row[12] = 0, 0, 0
  job(KEYS[first + 1], row, not template(KEYS[first], row))
  row[15] = place(tonumber(ARGV[number]), ARGV[number + 1], row[14] == 1)
  results[#results + 1] = row
  first, number = first + 2, number + 2
end
return results
