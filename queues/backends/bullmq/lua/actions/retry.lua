-- needs: queue, where, parents, damage, holding, retrying
-- Failed or completed jobs back to where they wait. ARGV: "failed" or "completed", "1" to forget the attempts, "1" to
-- let two jobs of one deduplication id wait, then for each job its id and its score as it was seen ("" = whichever).
-- Back: for each an outcome, where the job is, a reason, and what the reason names.
local state, reset, twins = ARGV[1], ARGV[2] == "1", ARGV[3] == "1"
local results, FIELDS = {}, { "priority", "deid", "parentKey", "parent" }
memo = {}

local function retried(id, seen)
  local found = fields_of(base .. id, FIELDS)
  local refused = not_retried(id, seen, state, call("ZSCORE", base .. state, id), found, twins)
  if refused then return refused end
  local reason = wait_again(id, state, reset, found)
  tell(base, "waiting", "jobId", id, "prev", state)
  return { "done", "", reason }
end

for i = 4, #ARGV, 2 do
  if is_enough() then break end
  results[#results + 1] = retried(ARGV[i], ARGV[i + 1])
end
return results
