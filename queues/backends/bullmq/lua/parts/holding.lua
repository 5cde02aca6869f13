-- Which job holds a deduplication id. Needs queue.

-- Another job that has not ended and holds this one's deduplication id. A holder that has ended only keeps new jobs
-- away for a time.
local function other_holder(id, deduplication)
  local holder = deduplication and redis.pcall("GET", base .. "de:" .. deduplication)
  if type(holder) ~= "string" or holder == id or call("EXISTS", base .. holder) == 0 then return nil end
  if call("ZSCORE", base .. "completed", holder) or call("ZSCORE", base .. "failed", holder) then return nil end
  return holder
end

-- The job holds its deduplication id as when it was added: until it ends. BullMQ lets it go when a job ends and does
-- not take it back, so that a producer could add a twin. Where the id is held for a time only, that time is over.
-- Back: whether it did not hold it before.
local function hold_again(id, deduplication, opts)
  local settings = deduplication and type(opts.de) == "table" and opts.de
  if not settings or (tonumber(settings.ttl) or 0) > 0 or other_holder(id, deduplication) then return false end
  local holder = redis.pcall("GET", base .. "de:" .. deduplication)
  if type(holder) == "table" then return false end -- a key of another type, which is none of ours
  call("SET", base .. "de:" .. deduplication, id)
  return holder ~= id
end

-- The deduplication id is free again, unless it is held for a time that is not over, or by another job.
local function let_deduplication_go(id, deduplication)
  local holding = deduplication and base .. "de:" .. deduplication
  if holding and call("PTTL", holding) == -1 and call("GET", holding) == id then call("DEL", holding) end
end
