-- needs: queue
-- Entries of a list from its head to its tail; reads only. ARGV: the list's name, how many were left towards the
-- tail ("" at first), the id that was the next one then, how many to give back. What was added or taken at either end
-- since then shifts places; the next id, found nearby, puts that right, and without it nothing is passed over as
-- long as nothing was added at the tail. Back: ids, how many are left now, and the next id ("" at the end).
local NEAR = 2000
local list, size = base .. ARGV[1], tonumber(ARGV[4])
local length = call("LLEN", list)
local first = 0
if ARGV[2] ~= "" then
  first = math.max(length - tonumber(ARGV[2]), 0)
  local low = math.max(first - NEAR, 0)
  for offset, id in ipairs(call("LRANGE", list, low, first + NEAR)) do
    if id == ARGV[3] then
      first = low + offset - 1
      break
    end
  end
end
local found = call("LRANGE", list, first, first + size)
local next_id = ""
if #found > size then
  next_id = found[#found]
  found[#found] = nil
end
local ids = {}
for _, id in ipairs(found) do
  if not is_marker(id) then ids[#ids + 1] = id end
end
return { ids, math.max(length - first - #found, 0), next_id }
