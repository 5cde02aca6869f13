-- Jobs that have ended, back to where they wait. Needs queue, where, parents, damage, holding.
local END = { "finishedOn", "processedOn", "failedReason", "returnvalue", "defa" }
-- 4.x calls it attemptsMade; `ats` is what stands behind "attempt 3" on 5.x and 6.x.
local TRIES = { "atm", "ats", "attemptsMade", "stc", "stalledCounter" }
local END_AND_TRIES = { unpack(END) }
for _, name in ipairs(TRIES) do END_AND_TRIES[#END_AND_TRIES + 1] = name end

-- The options, where one of those that matter here may be among them.
local function options_of(text, deduplication)
  if not text or not (deduplication or string.find(text, "lifo", 1, true)) then return {} end
  local ok, opts = pcall(cjson.decode, text)
  return ok and type(opts) == "table" and opts or {}
end

local function is_child(found)
  return (found.parentKey or found.parent) and true or false
end

-- Whether all that its parent is told by is as BullMQ makes it, so that nothing ends half-way.
local function has_sound_parent(key, found)
  local parent, prefix = parent_of(key, { found.parentKey, found.parent })
  if not parent then return true end
  for at, type in pairs({
    [parent] = "hash", [parent .. ":unsuccessful"] = "zset", [parent .. ":failed"] = "hash",
    [parent .. ":processed"] = "hash", [parent .. ":dependencies"] = "set", [prefix .. "failed"] = "zset",
    [prefix .. "waiting-children"] = "zset",
  }) do
    local there = call("TYPE", at).ok
    if there ~= type and there ~= "none" then return false end
  end
  return true
end

-- What has become of a parent that does not wait for this child, as the result to give back; nothing where it waits, or
-- where there is none.
local function without_parent(id, state, found)
  if not is_child(found) then return nil end
  local parent, prefix, parent_id = parent_of(base .. id, { found.parentKey, found.parent })
  local fate = parent and fate_of_parent(parent, prefix, parent_id) or ""
  if fate ~= "" then return { "unsupported", state, fate, parent } end
end

-- Why a job is not retried, as the result to give back: an outcome, where it is, a reason, what that names. Nothing
-- where it is. `score` = its own in the set of `state`, `found` = its fields: of those that are not read for each job
-- priority, deid, parentKey and parent.
local function not_retried(id, seen, state, score, found, twins)
  local key = base .. id
  if found and not found.timestamp and call("EXISTS", key) == 0 then return { "gone", score and state or "" } end
  if not score then
    local now = state_among(base, id)
    local waits = now == "waiting" or now == "prioritized" or now == "active"
    return { waits and "already" or "wrong-state", now }
  end
  if seen ~= "" and tonumber(seen) ~= tonumber(score) then return { "wrong-state", state } end
  local damaged = not found and "key" or damage_of(key, found)
  if not damaged and is_child(found) and not has_sound_parent(key, found) then damaged = "parent" end
  if damaged then return { "unsupported", state, "damaged", damaged } end
  local holder = not twins and other_holder(id, found.deid)
  if holder then return { "unsupported", state, "twin", holder } end
end

-- A job that waits again says nothing of how it had ended, and where that is wanted nothing of its attempts.
local function forget_end(key, reset)
  call("HDEL", key, unpack(reset and END_AND_TRIES or END))
end

-- The job waits again, by its priority. Back: what its parent or children have come to where that matters, whether its
-- deduplication id is held once more, and whether its parent had been told of its end.
local function wait_again(id, state, reset, found)
  local key, opts = base .. id, options_of(found.opts, found.deid)
  local priority = tonumber(found.priority or "") or 0
  enqueue(base, id, opts.lifo == true and priority == 0, priority)
  call("ZREM", base .. state, id)
  forget_end(key, reset)
  local held = hold_again(id, found.deid, opts)
  local reason, told = "", false
  if is_child(found) then reason, told = await_again(key, state, { found.parentKey, found.parent }) end
  if reason == "" and call("EXISTS", key .. ":dependencies") == 1 then reason = "children" end
  return reason, held, told
end
