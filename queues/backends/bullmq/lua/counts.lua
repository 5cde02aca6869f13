-- Depths of many queues. For each queue nine keys, in this order:
--   wait, paused, active, prioritized, delayed, waiting-children, completed, failed, meta
-- For each queue back: exists, the eight depths (false where the key has the wrong type), how many of the
-- entries at the ends of wait, paused and active are markers of 4.x, the ids at the ends of what waits
-- (tail and head of wait, tail and head of paused, first and last of prioritized), and from meta:
-- paused, version, concurrency, max, duration (false where meta has the wrong type).
local pcall_ = redis.pcall
local METHODS = {"LLEN", "LLEN", "LLEN", "ZCARD", "ZCARD", "ZCARD", "ZCARD", "ZCARD"}

local function number(reply)
  return type(reply) == "number" and reply or false
end

local function is_marker(id)
  return type(id) == "string" and string.sub(id, 1, 2) == "0:"
end

local function ends(key, length)
  if not length or length == 0 then return false, false, 0 end
  local tail, head = pcall_("LINDEX", key, -1), false
  if length > 1 then head = pcall_("LINDEX", key, 0) end
  local markers = 0
  if is_marker(tail) then
    markers, tail = 1, length > 1 and pcall_("LINDEX", key, -2) or false
  end
  if is_marker(head) then
    -- With two entries the one before the tail is the head itself.
    markers, head = markers + 1, false
    if is_marker(tail) then tail = false end
  end
  return tail, head, markers
end

local results = {}
for first = 1, #KEYS, 9 do
  local depths, any = {}, false
  for i = 1, 8 do
    local reply = pcall_(METHODS[i], KEYS[first + i - 1])
    depths[i] = number(reply)
    if reply ~= 0 then any = true end
  end
  local wait_tail, wait_head, wait_markers = ends(KEYS[first], depths[1])
  local paused_tail, paused_head, paused_markers = ends(KEYS[first + 1], depths[2])
  local active_markers = 0
  if depths[3] and depths[3] > 0 and is_marker(pcall_("LINDEX", KEYS[first + 2], 0)) then active_markers = 1 end
  local first_prioritized, last_prioritized = false, false
  if depths[4] and depths[4] > 0 then
    first_prioritized = pcall_("ZRANGE", KEYS[first + 3], 0, 0)[1] or false
    if depths[4] > 1 then last_prioritized = pcall_("ZRANGE", KEYS[first + 3], -1, -1)[1] or false end
  end
  local meta = pcall_("HMGET", KEYS[first + 8], "paused", "version", "concurrency", "max", "duration")
  if meta.err then
    meta, any = false, true
  else
    for i = 1, 5 do
      if meta[i] then
        any = true
        meta[i] = string.sub(meta[i], 1, 100)
      end
    end
    if not any then any = redis.call("EXISTS", KEYS[first + 8]) == 1 end
  end
  results[#results + 1] = {
    any and 1 or 0, depths, {wait_markers, paused_markers, active_markers},
    {wait_tail, wait_head, paused_tail, paused_head, first_prioritized, last_prioritized}, meta,
  }
end
return results
