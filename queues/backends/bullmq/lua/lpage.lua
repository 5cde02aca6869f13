-- A stretch of one or more lists read as one: heads first, in the order of the keys.
-- ARGV: "head" or "tail" (the end from which positions count), first position, how many.
-- Back: for each key its length (false where it is no list) and how many of its ends are markers of 4.x;
-- then the ids, from the lowest position on.
local from_tail, first, size = ARGV[1] == "tail", tonumber(ARGV[2]), tonumber(ARGV[3])
local lengths, markers, ids, total = {}, {}, {}, 0

local function is_marker(key, index)
  local id = redis.call("LINDEX", key, index)
  return id and string.sub(id, 1, 2) == "0:"
end

for number = 1, #KEYS do
  local length = redis.pcall("LLEN", KEYS[number])
  lengths[number], markers[number] = false, 0
  if type(length) == "number" then
    lengths[number], total = length, total + length
    if length > 0 and is_marker(KEYS[number], -1) then markers[number] = 1 end
    if length > 1 and is_marker(KEYS[number], 0) then markers[number] = markers[number] + 1 end
  end
end

local start, stop = first, first + size
if from_tail then start, stop = total - stop, total - start end
local offset = 0
for number = 1, #KEYS do
  local length = lengths[number] or 0
  local low, high = math.max(start - offset, 0), math.min(stop - offset, length) - 1
  if high >= low then
    for _, id in ipairs(redis.call("LRANGE", KEYS[number], low, high)) do ids[#ids + 1] = id end
  end
  offset = offset + length
end

if from_tail then
  for i = 1, math.floor(#ids / 2) do ids[i], ids[#ids + 1 - i] = ids[#ids + 1 - i], ids[i] end
end
return {lengths, markers, ids}
