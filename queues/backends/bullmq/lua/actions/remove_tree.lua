-- needs: queue, where, parents, removing, tree
-- Jobs that go with all that hangs below them, each tree whole or not at all (`remove` takes those without any). ARGV: the state the jobs must be in
-- ("" = any), then for each its id and what was seen of it. Back: for each an outcome, a detail, how many went with
-- it, and the key of the job below it that keeps it.
local wanted = ARGV[1]
local results = {}

local function removed(id, seen)
  local key = base .. id
  local from, at = place_of(base, id)
  local there, state = has_hash(base, id), state_named(from)
  if from == "unknown" and not (there and call("HEXISTS", key, "timestamp") == 1) then return { "gone", "", 0, "" } end
  if wanted ~= "" and state ~= wanted then return { "wrong-state", state, 0, "" } end
  if there and seen ~= "" then
    local now = type(at) == "string" and at or call("HGET", key, "timestamp")
    if now ~= seen then return { "wrong-state", state, 0, "" } end
  end
  local why, detail = kept(base, id, true)
  if why then return { why, detail, 0, "" } end
  if there and from == "active" then return { "wrong-state", "active", 0, "" } end
  local nodes = below(key, false)
  if not nodes then return { "unsupported", "", 0, "" } end
  local which
  why, detail, which = any_kept(nodes)
  if why then return { why, detail, 0, which } end
  remove_nodes(nodes)
  take_from(base, from, id, at)
  forget(base, id, true)
  tell(base, "removed", "jobId", id, "prev", from)
  settle()
  return { "done", state, #nodes, "" }
end

for i = 2, #ARGV, 2 do results[#results + 1] = removed(ARGV[i], ARGV[i + 1]) end
return results
