-- How old the jobs at the ends of queues are. KEYS: for each job its hash, and where the results of its children are
-- kept. ARGV: the time in ms from which on a job is young, then for each queue how many of the keys are its own.
-- Back come two rows. For each job when it was created, in ms, or false where its hash holds no time that a calendar
-- can show. For each queue since when the one created first has waited, of those that have not run before (a retry, a
-- replay, a stall): its creation, after the delay that it was added with; false where it waited for children, or
-- there is none. A young job is not looked at more closely.
local LAST = 253402300799999
local OPTS = 4096  -- bytes of options that are looked through
local YOUNG = tonumber(ARGV[1])

local function creation(key)
  local stamp = redis.pcall("HGET", key, "timestamp")
  if type(stamp) ~= "string" or #stamp > 24 or not string.find(stamp, "^[%d.eE+-]+$") then return false end
  local ms = tonumber(stamp)
  return ms and ms >= 0 and ms <= LAST and ms or false
end

local function has_run(key)
  for _, count in ipairs(redis.call("HMGET", key, "atm", "attemptsMade", "ats")) do
    if count and count ~= "0" then return true end
  end
  return redis.call("HSTRLEN", key, "stacktrace") > 2  -- a replay may have set the counters back, not this
end

-- The delay that a job was added with, in ms; false when nobody can tell.
local function delay(key)
  local size = redis.call("HSTRLEN", key, "opts")
  if size > OPTS then return false end
  local opts = size > 0 and redis.call("HGET", key, "opts")
  if not opts or not string.find(opts, '"delay"%s*:%s*[1-9]') then return 0 end
  local ok, decoded = pcall(cjson.decode, opts)
  if not ok or type(decoded) ~= "table" then return false end
  local ms = decoded.delay == nil and 0 or tonumber(decoded.delay)
  return ms and ms >= 0 and ms <= LAST and ms or false
end

-- Since when the job at this place has waited; nil when another one may tell.
local function since(place, ms)
  if ms >= YOUNG then return ms end
  if has_run(KEYS[place]) then return nil end
  local later = redis.call("EXISTS", KEYS[place + 1]) == 0 and delay(KEYS[place])
  return later and ms + later
end

local function first_of(stamps)
  local first
  for place, ms in pairs(stamps) do
    if not first or ms < stamps[first] then first = place end
  end
  return first
end

local created, waits, at = {}, {}, 1
for queue = 2, #ARGV do
  local stamps, told = {}, nil
  for place = at, at + ARGV[queue] - 2, 2 do
    local ms = creation(KEYS[place])
    created[#created + 1] = ms
    if ms then stamps[place] = ms end
  end
  while told == nil do
    local first = first_of(stamps)
    if not first then break end
    told = since(first, stamps[first])
    stamps[first] = nil
  end
  waits[#waits + 1] = told or false
  at = at + ARGV[queue]
end
return {created, waits}
