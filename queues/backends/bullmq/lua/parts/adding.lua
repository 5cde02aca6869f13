-- A new job, as BullMQ's own scripts add it. Needs queue, where.

-- BullMQ counts on, too, where the id is given.
local function next_id(id)
  local counter = call("INCR", base .. "id")
  if id ~= "" then return id end
  while call("EXISTS", base .. string.format("%.0f", counter)) == 1 do counter = call("INCR", base .. "id") end
  return string.format("%.0f", counter)
end

local function ask_events_kept(prefix)
  return call("HSETNX", prefix .. "meta", "opts.maxLenEvents", MAX_EVENTS)
end

-- Makes the job and puts it where it waits. It has an id ("" = the next number), name, data, opts (as they are stored),
-- timestamp ("" = now), delay, priority, lifo, deduplication and ms to live ("" = none): an id that is held by another
-- for a time, or by its `twin` that has not ended, stays held by that. `recorded` is called with the id before anybody
-- is told. Back: a state and the id.
local function add(job, recorded)
  local id = next_id(job.id)
  local timestamp = job.timestamp ~= "" and job.timestamp or string.format("%.0f", now_ms())
  once("kept", base, ask_events_kept)
  call("HSET", base .. id, "name", job.name, "data", job.data, "opts", job.opts, "timestamp", timestamp,
    "delay", job.delay, "priority", job.priority)
  local holding = job.deduplication ~= "" and base .. "de:" .. job.deduplication
  if holding then
    call("HSET", base .. id, "deid", job.deduplication)
    local type = call("TYPE", holding).ok -- a job's id may be the name of this key
    if not job.twin and (type == "none" or type == "string") and call("PTTL", holding) < 0 then
      call("SET", holding, id, unpack(job.ttl ~= "" and { "PX", job.ttl } or {}))
    end
  end
  recorded(id)
  tell(base, "added", "jobId", id, "name", job.name)
  local delay = tonumber(job.delay)
  if delay > 0 then
    local at = tonumber(timestamp) + delay
    call("ZADD", base .. "delayed", delayed_score(base, at), id)
    tell(base, "delayed", "jobId", id, "delay", string.format("%.0f", at))
    wake_for_delayed(base)
    return "delayed", id
  end
  enqueue(base, id, job.lifo, job.priority)
  tell(base, "waiting", "jobId", id)
  return job.priority == "0" and "waiting" or "prioritized", id
end
