-- Jobs that go: what keeps one, where it stands, its keys, its deduplication, and what its parent is told.
local QUEUE_HASHES = { meta = true, ["metrics:completed"] = true, ["metrics:failed"] = true }
local NOTHING = "0:9" -- stands in a list for what goes; every version steps over what begins with 0:

-- Whether there is a job's hash. An id may also be the name of another key of the queue (`wait`, `meta`,
-- `7:processed`, `repeat:nightly`): a job knows when it was made, and one that does not has at least no colon in its id.
local function has_hash(prefix, id)
  if QUEUE_HASHES[id] then return false end
  local known = redis.pcall("HEXISTS", prefix .. id, "timestamp")
  return known == 1 or known == 0 and not string.find(id, ":", 1, true) and call("EXISTS", prefix .. id) == 1
end

-- The collection that holds an id, by the last part of its key, with the score or (in lists) the index.
-- In lists of any length: as long as LPOS takes.
local function place_of(prefix, id)
  for _, name in ipairs(SETS) do
    local score = call("ZSCORE", prefix .. name, id)
    if score then return name, score end
  end
  for _, name in ipairs({ "active", "wait", "paused" }) do
    local index = call("LPOS", prefix .. name, id, "RANK", -1)
    if index then return name, index end
  end
  return "unknown"
end

local function state_named(place)
  return (place == "wait" or place == "paused") and "waiting" or place
end

-- Why a job may not go: the outcome and a detail; nothing where it may.
local function kept(prefix, id, children)
  local ms = locked_for(prefix .. id)
  if ms then return "locked", ms end
  if is_next_run(id, prefix) then return "scheduled", "delayed" end
  if not children and call("SCARD", prefix .. id .. ":dependencies") > 0 then return "children", "" end
end

-- Entries of lists go in two steps, so that many cost one pass: each is covered, then all covered ones are taken out.
local covered = {}
local function cover(list, index)
  call("LSET", list, index, NOTHING)
  local found = covered[list] or { count = 0, low = index, high = index }
  found.count = found.count + 1
  found.low, found.high = math.min(found.low, index), math.max(found.high, index)
  covered[list] = found
end

local function take_out()
  for list, found in pairs(covered) do
    local from_tail = call("LLEN", list) - found.low < found.high
    call("LREM", list, from_tail and -found.count or found.count, NOTHING)
  end
  covered = {}
end

local function take_from(prefix, place, id, index)
  if place == "active" or place == "wait" or place == "paused" then
    cover(prefix .. place, index)
  elseif place ~= "unknown" then
    call("ZREM", prefix .. place, id)
  end
end

-- A parent that waited for the last of its children goes on (BullMQ 6: includes/moveParentToWait).
local function release(parent)
  if call("EXISTS", parent) == 0 then return end
  local prefix, id = split(parent)
  if not prefix or call("ZREM", prefix .. "waiting-children", id) == 0 then return end
  local delay = tonumber(call("HGET", parent, "delay") or "") or 0
  if delay <= 0 then
    enqueue(prefix, id, true)
    tell(prefix, "waiting", "jobId", id, "prev", "waiting-children")
    return
  end
  local at = now_ms() + delay
  call("ZADD", prefix .. "delayed", delayed_score(prefix, at), id)
  tell(prefix, "delayed", "jobId", id, "delay", string.format("%.0f", at))
  if major_of(prefix) ~= 4 then
    wake_for_delayed(prefix)
  elseif call("LLEN", prefix .. "wait") == 0 then
    call("LPUSH", prefix .. "wait", string.format("0:%.0f", at))
  end
end

local unlinked, released = {}, {}

-- Takes a child off its parent; the parent goes on at `settle`. What finished children have told it stays: it will
-- read that.
local function leave(parent, key)
  call("ZREM", parent .. ":unsuccessful", key)
  if call("SREM", parent .. ":dependencies", key) == 1 and call("SCARD", parent .. ":dependencies") == 0 then
    released[#released + 1] = parent
  end
end

-- Forgets a job that is in no collection any more: its keys, its deduplication where it holds that. `parent` =
-- whether its parent is told. The keys go at `settle`.
local function forget(prefix, id, parent)
  local key = prefix .. id
  if not has_hash(prefix, id) then return end
  local fields = call("HMGET", key, "parentKey", "deid")
  if fields[2] and call("GET", prefix .. "de:" .. fields[2]) == id then
    unlinked[#unlinked + 1], unlinked[#unlinked + 2] = prefix .. "de:" .. fields[2], prefix .. "dn:" .. fields[2]
  end
  if parent and fields[1] and fields[1] ~= "" then leave(fields[1], key) end
  for _, suffix in ipairs({ "", ":logs", ":dependencies", ":processed", ":failed", ":unsuccessful" }) do
    unlinked[#unlinked + 1] = key .. suffix
  end
end

-- Ends what was begun: lists, keys, then parents, whose place in a list must not move while entries are covered.
local function settle()
  take_out()
  for first = 1, #unlinked, 5000 do
    call("UNLINK", unpack(unlinked, first, math.min(first + 4999, #unlinked)))
  end
  for _, parent in ipairs(released) do release(parent) end
  unlinked, released = {}, {}
end
