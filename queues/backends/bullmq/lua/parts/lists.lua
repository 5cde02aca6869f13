-- `wait` and `paused` as one list, in order. Jobs in `paused` are older than those in `wait` and are taken first; in
-- both the head is the newest. 5.x renames one over the other, so what stands in both is in danger: as long as both
-- are longer than one script may move, each step makes that smaller which a rename would destroy.
local CHUNK = 5000 -- arguments of one command; Lua unpacks fewer than 8,000

local function push(command, key, ids)
  local kept = {}
  for _, id in ipairs(ids) do
    if not is_marker(id) then kept[#kept + 1] = id end
  end
  if #kept > 0 then call(command, key, unpack(kept)) end
end

-- The oldest of `wait`, put behind the newest of `paused`.
local function park(most)
  while most > 0 do
    local ids = call("LRANGE", base .. "wait", -math.min(most, CHUNK), -1)
    if #ids == 0 then return end
    local oldest_first = {}
    for i = #ids, 1, -1 do oldest_first[#oldest_first + 1] = ids[i] end
    push("LPUSH", base .. "paused", oldest_first)
    call("LTRIM", base .. "wait", 0, -#ids - 1)
    most = most - #ids
  end
end

-- The newest of `paused`, put before the oldest of `wait`.
local function unpark(most)
  while most > 0 do
    local ids = call("LRANGE", base .. "paused", 0, math.min(most, CHUNK) - 1)
    if #ids == 0 then return end
    push("RPUSH", base .. "wait", ids)
    call("LTRIM", base .. "paused", #ids, -1)
    most = most - #ids
  end
end

-- Whether only one list is left after moving at most so many ids. Where one script is enough, nobody can come between.
-- Else a paused queue is in danger of a resume, which destroys `wait`, and an open one of a pause, which destroys
-- `paused`: that one shrinks.
local function merged(most)
  local open, parked = call("LLEN", base .. "wait"), call("LLEN", base .. "paused")
  if math.min(open, parked) <= most then
    if open > 0 and parked > 0 then (open < parked and park or unpark)(math.min(open, parked)) end
    return true
  end
  (is_paused(base) and park or unpark)(most)
  return false
end
