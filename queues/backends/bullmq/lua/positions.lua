-- Where streams stand. For each key back: false where it is no stream, 0 where it is missing, else its length, its
-- last id, how many entries were ever added (false where the server does not count them) and the id of its first
-- entry (false when it is empty). Only numbers and ids leave: an entry may hold megabytes.
local results = {}
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
  end
end
return results
