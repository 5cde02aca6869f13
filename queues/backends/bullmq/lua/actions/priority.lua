-- needs: queue, where
-- Another priority. ARGV: the priority, then for each job its id and, as it was seen, its score or (in a list) its
-- timestamp ("" = whichever). Back: for each an outcome, where the job is, a reason. As with BullMQ the hash tells the
-- priority, the options stay as they were, no event is emitted, and a job goes behind those of the same priority.
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

-- A list is looked through once: removing is the check.
local function taken_from_list(id, key, seen)
  if seen ~= "" and tonumber(seen) ~= tonumber(call("HGET", key, "timestamp") or "") then return { "changed", "" } end
  if call("LREM", base .. "wait", -1, id) == 0 and call("LREM", base .. "paused", -1, id) == 0 then
    return { "wrong-state", (state_of(base, id)) }
  end
  call("HSET", key, "priority", priority)
  enqueue(base, id, false)
  return { "done", "prioritized" }
end

local function ranked(id, seen)
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
  if wanted > 0 then return taken_from_list(id, key, seen) end
  local now = state_of(base, id)
  return now == "waiting" and noted(key, now) or { "wrong-state", now }
end

for i = 2, #ARGV, 2 do results[#results + 1] = ranked(ARGV[i], ARGV[i + 1]) end
return results
