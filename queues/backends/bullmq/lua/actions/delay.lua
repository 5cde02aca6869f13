-- needs: queue, where
-- Delayed jobs to another moment. ARGV: that moment in ms, then for each job its id and its score as it was seen
-- ("" = whichever). Back: for each an outcome, where the job is, a reason. A moment that is over means now.
local results, done = {}, false
local now, four = now_ms(), is_four(base)
local at = math.max(tonumber(ARGV[1]), now)

local function moved(id, seen)
  local key = base .. id
  if four then return { "unsupported", "", "four" } end
  local score = call("ZSCORE", base .. "delayed", id)
  if call("EXISTS", key) == 0 then return { "gone", score and "delayed" or "" } end
  if not score then return { "wrong-state", (state_among(base, id)) } end
  if is_next_run(id) then return { "scheduled", "delayed" } end
  local due = math.floor(tonumber(score) / 4096)
  if due == at or (due < now and at == now) then return { "already", "delayed" } end
  if seen ~= "" and tonumber(seen) ~= tonumber(score) then return { "changed", "delayed" } end
  call("ZADD", base .. "delayed", delayed_score(base, at), id)
  call("HSET", key, "delay", string.format("%.0f", at - now))
  tell(base, "delayed", "jobId", id, "delay", string.format("%.0f", at))
  done = true
  return { "done", "delayed" }
end

for i = 2, #ARGV, 2 do
  if is_enough() then break end
  results[#results + 1] = moved(ARGV[i], ARGV[i + 1])
end
if done then wake_for_delayed(base) end
return results
