-- needs: queue, where, parents, removing, hints
-- Another priority. ARGV: the priority, then for each job its id, as it was seen its score or (in a list) its timestamp
-- ("" = whichever), and where in a list: "" = look for it, "-" = in none, "?" = not looked for yet, else a hint
-- ("again" where it has to be looked for). Back: for each an outcome, where the job is, a reason. As with BullMQ the
-- hash tells the priority, the options stay, no event is emitted, and a job goes behind those of the same priority.
local priority = ARGV[1]
local wanted, four = tonumber(priority), is_four(base)
local results = {}

-- The field alone: of delayed jobs and of parents it counts when they come to wait.
local function noted(key, state)
  if (tonumber(call("HGET", key, "priority") or "") or 0) == wanted then return { "already", state } end
  call("HSET", key, "priority", priority)
  return { "done", state }
end

local function ranked_again(id, key, score, seen)
  if seen ~= "" and tonumber(seen) ~= tonumber(score) then return { "changed", "prioritized" } end
  call("HSET", key, "priority", priority)
  enqueue(base, id, false)
  if wanted == 0 then call("ZREM", base .. "prioritized", id) end
  return { "done", wanted > 0 and "prioritized" or "waiting" }
end

-- List and index of a job that may wait in one; "again" where reads have to find it.
local function waits_at(id, hint)
  if hint == "?" then return "again" end
  if hint ~= "" and hint ~= "-" then
    local name, index = hinted(base, id, hint)
    return name or "again", index
  end
  for _, name in ipairs({ "wait", "paused" }) do
    took(call("LLEN", base .. name), PASSED)
    local index = call("LPOS", base .. name, id, "RANK", -1)
    if index then return name, index end
  end
end

local function taken_from_list(id, key, seen, hint)
  if seen ~= "" and tonumber(seen) ~= tonumber(call("HGET", key, "timestamp") or "") then return { "changed", "" } end
  for _, set in ipairs({ "completed", "failed" }) do
    if call("ZSCORE", base .. set, id) then return { "wrong-state", set } end
  end
  if locked_for(key) then return { "wrong-state", "active" } end
  local name, index = waits_at(id, hint)
  if name == "again" then return { "again", "" } end
  if not name then return { "wrong-state", (state_among(base, id)) } end
  call("HSET", key, "priority", priority)
  enqueue(base, id, false)
  -- A marker before it may be gone by now.
  cover(base .. name, call("LINDEX", base .. name, index) == id and index or index - 1)
  return { "done", "prioritized" }
end

local function ranked(id, seen, hint)
  local key = base .. id
  if four then return { "unsupported", "", "four" } end
  if call("EXISTS", key) == 0 then return { "gone", "" } end
  local score = call("ZSCORE", base .. "prioritized", id)
  if score then
    local same = tonumber(call("HGET", key, "priority") or "") == wanted and wanted > 0
    return same and { "already", "prioritized" } or ranked_again(id, key, score, seen)
  end
  for _, set in ipairs({ "delayed", "waiting-children" }) do
    if call("ZSCORE", base .. set, id) then return noted(key, set) end
  end
  if wanted > 0 then return taken_from_list(id, key, seen, hint) end
  local now = state_among(base, id)
  return now == "waiting" and noted(key, now) or { "wrong-state", now }
end

for i = 2, #ARGV, 3 do
  if is_enough() then break end
  results[#results + 1] = ranked(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
take_out()
return results
