-- needs: queue, where, parents, removing, hints
-- Jobs that go, each alone. ARGV: the state they must be in ("" = any), "1" where what hangs below one is to go with it
-- (then the outcome is "tree" for a job that has something below it), then for each its id, what was seen of it
-- ("" = whichever stay), and where in a list: "" = look for it, "-" = in none, "?" = not looked for yet (then the
-- outcome is "again" where no set holds it), else `w` or `p` for wait and paused and how far from the tail it was
-- ("again" where it is not near there). Back: for each an outcome and a detail.
local wanted, trees = ARGV[1], ARGV[2] == "1"
local results, known = {}, {}
local of_set = false
for _, name in ipairs(SETS) do of_set = of_set or name == wanted end

local function place(id, hint)
  if of_set then -- where else they may be is not looked for
    local score = call("ZSCORE", base .. wanted, id)
    return score and wanted or "elsewhere", score
  end
  if hint == "" then return place_of(base, id) end
  for _, name in ipairs(SETS) do
    local score = call("ZSCORE", base .. name, id)
    if score then return name, score end
  end
  local index = call("LPOS", base .. "active", id)
  if index then return "active", index end
  if hint == "-" then
    -- Only a job that is in no list for certain may lose its hash.
    if has_hash(base, id) then return place_of(base, id) end
    return "unknown"
  end
  local list
  list, index = hinted(base, id, hint)
  return list or "again", index
end

local function removed(id, seen, hint)
  if known[id] then return { "gone", "" } end
  local from, at = place(id, hint)
  if from == "again" then return { "again", "" } end
  if from == "elsewhere" then
    if not has_hash(base, id) then return { "gone", "" } end
    return { "wrong-state", (state_among(base, id)) }
  end
  local why, detail = not_meant(id, seen, wanted, from, at)
  if why then return { why, detail } end
  local key = base .. id
  if trees and call("EXISTS", key .. ":dependencies", key .. ":processed", key .. ":failed", key .. ":unsuccessful") > 0
  then
    return { "tree", "" }
  end
  why, detail = kept(base, id, false)
  if why then return { why, detail } end
  if from == "active" and has_hash(base, id) then return { "wrong-state", "active" } end
  known[id] = true
  frees(key)
  take_from(base, from, id, at)
  forget(base, id, true)
  tell(base, "removed", "jobId", id, "prev", from)
  return { "done", state_named(from) }
end

for i = 3, #ARGV, 3 do
  if is_enough() then break end
  results[#results + 1] = removed(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
settle()
return results
