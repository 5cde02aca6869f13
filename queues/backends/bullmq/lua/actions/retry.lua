-- needs: queue, where, parents
-- Failed or completed jobs back to where they wait. ARGV: "failed" or "completed", "1" to forget the attempts, then
-- for each job its id and its score as it was seen ("" = whichever). Back: for each an outcome and a detail.
local state, reset = ARGV[1], ARGV[2] == "1"
local results = {}

local function retried(id, seen)
  local key = base .. id
  local score = call("ZSCORE", base .. state, id)
  if call("EXISTS", key) == 0 then return { "gone", score and state or "" } end
  if not score then
    local now = state_of(base, id)
    local waits = now == "waiting" or now == "prioritized" or now == "active"
    return { waits and "already" or "wrong-state", now }
  end
  if seen ~= "" and seen ~= score then return { "wrong-state", state } end
  call("ZREM", base .. state, id)
  call("HDEL", key, "finishedOn", "processedOn", "failedReason", "returnvalue", "defa")
  -- 4.x calls it attemptsMade; `ats` is what stands behind "attempt 3" on 5.x and 6.x.
  if reset then call("HDEL", key, "atm", "ats", "attemptsMade", "stc", "stalledCounter") end
  enqueue(base, id, false)
  await_again(key, state)
  tell(base, "waiting", "jobId", id, "prev", state)
  return { "done", "" }
end

for i = 3, #ARGV, 2 do results[#results + 1] = retried(ARGV[i], ARGV[i + 1]) end
return results
