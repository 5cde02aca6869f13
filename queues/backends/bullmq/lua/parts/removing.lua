-- Jobs that go: what keeps one, where it stands, its keys, its deduplication, and what its parent is told.
local QUEUE_HASHES = { meta = true, ["metrics:completed"] = true, ["metrics:failed"] = true }
local NOTHING = "0:9" -- stands in a list for what goes; every version steps over what begins with 0:

-- What is asked of a job's hash: when it was made, its parent, its deduplication id; nothing where there is none.
-- An id may also be the name of another key of the queue (`wait`, `meta`, `7:processed`, `repeat:nightly`): a job knows
-- when it was made, and one that does not has at least no colon in its id.
local function hash_of(prefix, id)
  if QUEUE_HASHES[id] then return nil end
  local fields = redis.pcall("HMGET", prefix .. id, "timestamp", "parentKey", "deid")
  if fields.err then return nil end
  if fields[1] or not string.find(id, ":", 1, true) and call("EXISTS", prefix .. id) == 1 then return fields end
  return nil
end

local function has_hash(prefix, id)
  return hash_of(prefix, id) ~= nil
end

-- The collection that holds an id, by the last part of its key, with the score or (in lists) the index.
-- In lists of any length: as long as LPOS takes.
local function place_of(prefix, id)
  for _, name in ipairs(SETS) do
    local score = call("ZSCORE", prefix .. name, id)
    if score then return name, score end
  end
  for _, name in ipairs({ "active", "wait", "paused" }) do
    took(call("LLEN", prefix .. name), PASSED)
    local index = call("LPOS", prefix .. name, id, "RANK", -1)
    if index then return name, index end
  end
  return "unknown"
end

local function state_named(place)
  return (place == "wait" or place == "paused") and "waiting" or place
end

-- The state of a scheduler's next run: due ones wait, and are not looked for in lists.
local function next_run_is(prefix, id)
  for _, name in ipairs({ "delayed", "prioritized" }) do
    if call("ZSCORE", prefix .. name, id) then return name end
  end
  return "waiting"
end

-- Why a job may not go: the outcome and a detail; nothing where it may.
local function kept(prefix, id, children)
  local key = prefix .. id
  local hangs = call("EXISTS", key .. ":lock", key .. ":dependencies") > 0 -- the seldom case: one call for the others
  local ms = hangs and locked_for(key)
  if ms then return "locked", ms end
  if is_next_run(id, prefix) then return "scheduled", next_run_is(prefix, id) end
  if hangs and not children and call("SCARD", key .. ":dependencies") > 0 then return "children", "" end
end

-- Why the job that stands at this place is not the one that is meant: the outcome and a detail; nothing where it is.
local function not_meant(id, seen, wanted, from, at)
  local there, state = has_hash(base, id), state_named(from)
  if from == "unknown" and not (there and call("HEXISTS", base .. id, "timestamp") == 1) then return "gone", "" end
  if wanted ~= "" and state ~= wanted then return "wrong-state", state end
  if there and seen ~= "" then
    local now = type(at) == "string" and at or call("HGET", base .. id, "timestamp")
    if now ~= seen then return "wrong-state", state end
  end
end

-- What a job takes is given back while the server is held, but for what has many parts.
local function frees(key)
  local size = redis.pcall("HSTRLEN", key, "data")
  if type(size) == "number" then took(size, FREED) end
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

local unlinked, released = {}, {}

-- Takes a child off its parent; the parent goes on at `settle`. What finished children have told it stays: it will
-- read that.
local function leave(parent, key)
  call("ZREM", parent .. ":unsuccessful", key)
  if call("SREM", parent .. ":dependencies", key) == 1 and call("SCARD", parent .. ":dependencies") == 0 then
    released[#released + 1] = parent
  end
end

-- Forgets a job that is in no collection any more: its keys, its deduplication where it holds that. `told` = whether
-- its parent is told. The keys go at `settle`.
local function forget(prefix, id, told, fields)
  fields = fields or hash_of(prefix, id)
  if not fields then return end
  local key, parent, deduplication = prefix .. id, fields[2], fields[3]
  if deduplication and call("GET", prefix .. "de:" .. deduplication) == id then
    unlinked[#unlinked + 1] = prefix .. "de:" .. deduplication
    unlinked[#unlinked + 1] = prefix .. "dn:" .. deduplication
  end
  if told and parent and parent ~= "" then leave(parent, key) end
  local n = #unlinked
  unlinked[n + 1], unlinked[n + 2], unlinked[n + 3] = key, key .. ":logs", key .. ":dependencies"
  unlinked[n + 4], unlinked[n + 5], unlinked[n + 6] = key .. ":processed", key .. ":failed", key .. ":unsuccessful"
end

-- Ends what was begun: lists, keys, then parents, whose place in a list must not move while entries are covered.
local function settle()
  take_out()
  for first = 1, #unlinked, 5000 do
    call("UNLINK", unpack(unlinked, first, math.min(first + 4999, #unlinked)))
  end
  for _, parent in ipairs(released) do
    local prefix, id = split(parent)
    if prefix then parent_goes_on(prefix, id) end
  end
  unlinked, released = {}, {}
end
