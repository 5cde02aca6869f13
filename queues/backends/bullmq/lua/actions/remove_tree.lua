-- needs: queue, where, parents, removing, hints, tree
-- Jobs that go with all that hangs below them, each tree whole or not at all (`remove` takes those without any).
-- ARGV: the state the jobs must be in ("" = any), hints (see tree), then for each its id and what was seen of it. Back:
-- for each an outcome, a detail, how many went with it, and the key of the job below it that keeps it. The last outcome
-- is "look" where reads have to find jobs first, with the prefixes and ids of these.
local wanted = ARGV[1]
local results = {}

local function removed(id, seen)
  local key = base .. id
  local root = { prefix = base, id = id, key = key }
  find_all({ root })
  if #sought > 0 then return { "look", sought } end
  local from, at = root.place, root.index or root.score
  local why, detail = not_meant(id, seen, wanted, from, at)
  if not why then why, detail = kept(base, id, true) end
  if why then return { why, detail, 0, "" } end
  if from == "active" and has_hash(base, id) then return { "wrong-state", "active", 0, "" } end
  local nodes = below(key, false)
  if not nodes then return { "unsupported", "", 0, "" } end
  local which
  why, detail, which = any_kept(nodes)
  if why == "look" then return { "look", sought } end
  if why then return { why, detail, 0, which } end
  remove_nodes(nodes)
  take_from(base, from, id, at)
  forget(base, id, true)
  tell(base, "removed", "jobId", id, "prev", from)
  settle()
  return { "done", state_named(from), #nodes, "" }
end

for i = take_hints(2), #ARGV, 2 do
  if is_enough() or #sought > 0 then break end
  results[#results + 1] = removed(ARGV[i], ARGV[i + 1])
end
return results
