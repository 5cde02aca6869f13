-- needs: queue, where, receipt
-- A new job, as BullMQ's own scripts add it. ARGV: a token, its id ("" = the next number), name, data, options (as they
-- are stored), then what of those is needed here: timestamp ("" = now), delay, priority, "1" for lifo,
-- deduplication id and ms to live ("" = none). Back: an outcome, a state, the id made (or in the way).
local token, id, name, data, opts = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local timestamp, delay, priority, lifo = ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9] == "1"
local deduplication, ttl = ARGV[10], ARGV[11]
if is_four(base) then return { "unsupported", "", "" } end
local made = receipt_of(token)
if made then return { "already", "", made } end
if id ~= "" and call("EXISTS", base .. id) == 1 then return { "already", (state_of(base, id)), "" } end
local holder = deduplication ~= "" and call("GET", base .. "de:" .. deduplication)
if holder then
  return { "changed", call("EXISTS", base .. holder) == 1 and state_of(base, holder) or "gone", holder }
end
-- BullMQ counts on, too, where the id is given.
local counter = call("INCR", base .. "id")
if id == "" then
  while call("EXISTS", base .. string.format("%.0f", counter)) == 1 do counter = call("INCR", base .. "id") end
  id = string.format("%.0f", counter)
end
if timestamp == "" then timestamp = string.format("%.0f", now_ms()) end
call("HSETNX", base .. "meta", "opts.maxLenEvents", MAX_EVENTS)
call("HSET", base .. id, "name", name, "data", data, "opts", opts, "timestamp", timestamp, "delay", ARGV[7],
  "priority", priority)
if deduplication ~= "" then
  call("HSET", base .. id, "deid", deduplication)
  call("SET", base .. "de:" .. deduplication, id, unpack(ttl ~= "" and { "PX", ttl } or {}))
end
leave_receipt(token, id)
tell(base, "added", "jobId", id, "name", name)
if delay > 0 then
  local at = tonumber(timestamp) + delay
  call("ZADD", base .. "delayed", delayed_score(base, at), id)
  tell(base, "delayed", "jobId", id, "delay", string.format("%.0f", at))
  wake_for_delayed(base)
  return { "done", "delayed", id }
end
enqueue(base, id, lifo)
tell(base, "waiting", "jobId", id)
return { "done", priority == "0" and "waiting" or "prioritized", id }
