-- needs: queue, where, parents, damage, holding, orphans
-- Active jobs whose lock is gone, to failed, as if their last attempt had failed. ARGV: the reason, then for each job
-- its id and its timestamp as it was seen ("" = whichever). Back: for each an outcome, where the job is or how long it
-- is still locked, and a reason.
-- As a worker would do it (BullMQ 5 and 6: moveToFinished), but for three things: the job is kept whatever
-- `removeOnFail` says, since somebody wants to see it; no stack trace is added; metrics, an affair of workers, are not
-- counted. Where a worker has more to do (a scheduler's next run, another job that waits for the end of this one) the
-- job is given to the next worker with the reason for which it fails it at once (`defa`), as BullMQ does with jobs
-- that stall too often.
local reason = ARGV[1]
local results = {}
local now = now_ms()
local ENDED = { failed = true }

local function left_to_a_worker(id, key)
  local damaged = damage_of(key)
  if damaged then return { "unsupported", "active", "damaged", damaged } end
  call("HSET", key, "defa", reason)
  enqueue(base, id, true)
  leave_active(id)
  wake(base)
  tell(base, "waiting", "jobId", id, "prev", "active")
  return { "done", "", "deferred" }
end

local function attempts_of(key)
  local ok, opts = pcall(cjson.decode, call("HGET", key, "opts") or "")
  return ok and type(opts) == "table" and tonumber(opts.attempts) or 0
end

-- Others can go on in the place that is free now; where nobody is left, the queue is said to be empty.
local function go_on()
  local waiting = has_jobs(base .. "wait") or call("ZCARD", base .. "prioritized") > 0
  if waiting then return wake(base) end
  if call("LLEN", base .. "active") == 0 then tell(base, "drained") end
end

local function failed(id, seen)
  local refused = not_orphaned(id, seen, ENDED)
  if refused then return refused end
  local key = base .. id
  local deduplication = call("HGET", key, "deid")
  local next_waits = deduplication and call("EXISTS", base .. "dn:" .. deduplication) == 1
  if next_waits or is_next_run(id) then return left_to_a_worker(id, key) end
  call("ZADD", base .. "failed", string.format("%.0f", now), id)
  leave_active(id)
  let_deduplication_go(id, deduplication)
  tell_parent_of_failure(key, reason, now)
  local made = (tonumber(call("HGET", key, "atm") or "") or 0) + 1
  call("HSET", key, "failedReason", reason, "finishedOn", string.format("%.0f", now), "atm", made)
  call("HDEL", key, "defa")
  tell(base, "failed", "jobId", id, "failedReason", reason, "prev", "active")
  if made >= attempts_of(key) then tell(base, "retries-exhausted", "jobId", id, "attemptsMade", made) end
  go_on()
  return { "done", "failed" }
end

for i = 2, #ARGV, 2 do
  if is_enough() then break end
  results[#results + 1] = failed(ARGV[i], ARGV[i + 1])
end
return results
