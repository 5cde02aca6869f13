-- needs: queue, where, damage, orphans
-- Active jobs whose lock is gone, back to where they wait, before others (of their priority). ARGV: for each job its id
-- and its timestamp as it was seen ("" = whichever). Back: for each an outcome, where the job is or how long it is
-- still locked, a reason, and what the reason names.
local results = {}
local WAITS = { waiting = true, prioritized = true }

local function requeued(id, seen)
  local refused = not_orphaned(id, seen, WAITS)
  if refused then return refused end
  local damaged = damage_of(base .. id)
  if damaged then return { "unsupported", "active", "damaged", damaged } end
  enqueue(base, id, true)
  leave_active(id)
  wake(base) -- once more: the place that it leaves may be the one that was lacking
  tell(base, "waiting", "jobId", id, "prev", "active")
  return { "done", "" }
end

for i = 1, #ARGV, 2 do
  if is_enough() then break end
  results[#results + 1] = requeued(ARGV[i], ARGV[i + 1])
end
return results
