-- Active jobs whose worker is gone: no lock stands beside them, and so no worker can end them any more (it would be
-- told that its lock is missing). Needs queue, where.

-- Why a job is not such a one, as the result to give back; or nothing. 5.x and 6.x take a job, note when it begins
-- and lock it in one script; a worker of 4.x does so in two steps, and what lies between is left alone.
local function not_orphaned(id, seen, after)
  local key = base .. id
  if is_four(base) then return { "unsupported", "", "four" } end
  if call("EXISTS", key) == 0 then return { "gone", call("LPOS", base .. "active", id) and "active" or "" } end
  took(call("LLEN", base .. "active"), PASSED)
  local now = call("LPOS", base .. "active", id) and "active" or state_among(base, id)
  if now ~= "active" then return { after[now] and "already" or "wrong-state", now } end
  local stored = call("HMGET", key, "timestamp", "processedOn")
  if seen ~= "" and tonumber(seen) ~= tonumber(stored[1] or "") then return { "changed", "active" } end
  local lock = locked_for(key)
  if lock then return { "locked", lock } end
  if not stored[2] then return { "unsupported", "active", "begins" } end
end

local function leave_active(id)
  call("LREM", base .. "active", 1, id)
  call("SREM", base .. "stalled", id)
end
