-- Where streams stand. For each key back: false where it is no stream, 0 where it is missing, else its length, its
-- last id, how many entries were ever added (false where the server does not count them) and the id of its first
-- entry (false when it is empty). Only numbers and ids leave: an entry may hold megabytes. XINFO copies the first
-- and the last one, so after so many bytes of them (ARGV) the script ends, with the keys that it came to.
local results, room = {}, tonumber(ARGV[1])

local function weigh(entry)
  for _, part in ipairs(entry and entry[2] or {}) do room = room - #part end
end

for i = 1, #KEYS do
  local told = redis.pcall("XINFO", "STREAM", KEYS[i])
  if told.err then
    if redis.call("EXISTS", KEYS[i]) == 0 then
      results[i] = 0
    elseif string.find(told.err, "WRONGTYPE", 1, true) then
      results[i] = false
    else
      return told
    end
  else
    local by = {}
    for f = 1, #told, 2 do by[told[f]] = told[f + 1] end
    local first = by["first-entry"]
    results[i] = {by["length"], by["last-generated-id"], by["entries-added"] or false, first and first[1] or false}
    weigh(first)
    weigh(by["last-entry"])
    if room < 0 then break end
  end
end
return results
