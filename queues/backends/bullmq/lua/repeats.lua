-- Which schedules queues have, in the order of their next runs. KEYS: the set of each queue. ARGV: the most to give
-- back of one queue, the most members and the most bytes of members of all, after which the script ends with the
-- queues that it came to. For each queue back: false where it is no set, else how many it has, then members and
-- scores alternating. Of a queue whose members alone exceed the bytes, those that it came to.
local most, members, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local STEP = 100

-- The members of a set, read in steps, since each may be of any length.
local function read(key, wanted)
  local row, spent = {}, 0
  for first = 0, wanted - 1, STEP do
    local found = redis.call("ZRANGE", key, first, math.min(first + STEP, wanted) - 1, "WITHSCORES")
    for i = 1, #found, 2 do
      spent = spent + #found[i]
      if spent > bytes then return row, spent end
      row[#row + 1], row[#row + 2] = found[i], found[i + 1]
    end
  end
  return row, spent
end

local results, left, room = {}, members, bytes
for i = 1, #KEYS do
  local total = redis.pcall("ZCARD", KEYS[i])
  if type(total) ~= "number" then
    results[i] = false
  else
    local wanted = math.min(total, most)
    if i > 1 and wanted > left then break end
    local row, spent = read(KEYS[i], wanted)
    if i > 1 and spent > room then break end
    left, room = left - wanted, room - spent
    results[i] = {total, row}
  end
end
return results
