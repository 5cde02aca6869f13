-- Fields of many hashes, small ones whole. ARGV: pairs of a field's name and the longest value to give back.
-- For each key back: false where it is no hash, 0 where it is missing, else for each field its length
-- and its value; the value is false where there is none or it is longer (fetch that with `cut`).
local results = {}
for i = 1, #KEYS do
  local row, at, wanted, places = {}, 0, {}, {}
  for f = 1, #ARGV, 2 do
    local length = redis.pcall("HSTRLEN", KEYS[i], ARGV[f])
    if type(length) ~= "number" then
      row = false
      break
    end
    row[at + 1], row[at + 2] = length, false
    if length <= tonumber(ARGV[f + 1]) then
      wanted[#wanted + 1], places[#places + 1] = ARGV[f], at + 2
    end
    at = at + 2
  end
  if row then
    local found = false
    local values = #wanted > 0 and redis.call("HMGET", KEYS[i], unpack(wanted)) or {}
    for w = 1, #wanted do
      row[places[w]] = values[w]
      if values[w] then found = true end
    end
    if not found and redis.call("EXISTS", KEYS[i]) == 0 then row = 0 end
  end
  results[i] = row
end
return results
