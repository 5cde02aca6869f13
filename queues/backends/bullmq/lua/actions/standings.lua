-- needs: queue, where, many
-- How jobs stand that were sent; reads only. ARGV: their ids. Back: for each its state ("gone" where it is nowhere),
-- its score, its attempts, and 1 where an attempt failed and another follows.
local results, LOOKED = {}, 0.15 -- jobs in a millionth of a second
local GONE = { "gone", "", "", 0 }
local find = finder(ARGV)

-- A retry takes the reason off, and a new job has none: what waits with one has failed since.
local function stands(at)
  local key = base .. ARGV[at]
  local found = redis.pcall("HMGET", key, "timestamp", "atm", "attemptsMade")
  if found.err then return GONE end
  local state, score = find(at)
  if state == "completed" or state == "failed" then return { state, score, found[2] or found[3] or "", 0 } end
  if state == "unknown" or not found[1] and call("EXISTS", key) == 0 then return GONE end
  local tried = tonumber(found[2] or found[3] or "") or 0
  return { state, score or "", found[2] or found[3] or "", tried > 0 and call("HEXISTS", key, "failedReason") or 0 }
end

for at = 1, #ARGV do
  if is_enough() then break end
  took(1, LOOKED)
  results[at] = stands(at)
end
return results
