-- How old the jobs at the ends of queues are. ARGV: for each queue how many of the keys are its own; KEYS: for each
-- job its hash, and where the results of its children are kept. Back come two rows. For each job when it was
-- created, in ms, or false where its hash holds no time that a calendar can show. For each queue since when the one
-- created first has waited, as far as its keys tell, of those that have not run before (a retry, a replay, a
-- stall): its creation, after the delay that it was added with; false where it waited for children, or there is none.
local LAST = 253402300799999
local OPTS = 4096  -- bytes of options that are looked through

local function counted(value)
  return value and value ~= "0"
end

-- When a job was created, and whether it has run.
local function look(key)
  local found = redis.pcall("HMGET", key, "timestamp", "atm", "attemptsMade", "ats")
  if found.err or not found[1] or #found[1] > 24 or not string.find(found[1], "^[%d.eE+-]+$") then return false end
  local ms = tonumber(found[1])
  if not ms or ms < 0 or ms > LAST then return false end
  return ms, counted(found[2]) or counted(found[3]) or counted(found[4])
end

-- The delay that a job was added with, in ms; false when nobody can tell.
local function delay(key)
  local size = redis.call("HSTRLEN", key, "opts")
  if size > OPTS then return false end
  local opts = size > 0 and redis.call("HGET", key, "opts")
  if not opts or not string.find(opts, '"delay"%s*:%s*[1-9]') then return 0 end
  local ok, decoded = pcall(cjson.decode, opts)
  return ok and type(decoded) == "table" and (decoded.delay == nil and 0 or tonumber(decoded.delay)) or false
end

local created, since, at = {}, {}, 1
for queue = 1, #ARGV do
  local first, place = false, 0
  for i = at, at + ARGV[queue] - 2, 2 do
    local ms, ran = look(KEYS[i])
    created[(i + 1) / 2] = ms
    if ms and not ran and (not first or ms < first) then first, place = ms, i end
  end
  -- A replay may have set the counters back; the errors of earlier attempts stay.
  if first and redis.call("HSTRLEN", KEYS[place], "stacktrace") <= 2 and redis.call("EXISTS", KEYS[place + 1]) == 0 then
    local later = delay(KEYS[place])
    first = later and later >= 0 and later <= LAST and first + later
  else
    first = false
  end
  since[queue] = first
  at = at + ARGV[queue]
end
return {created, since}
