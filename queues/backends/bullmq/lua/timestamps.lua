-- When jobs were created, in ms: for each job hash its timestamp as a number, or false where it holds none that a
-- calendar can show.
local LAST = 253402300799999
local results = {}
for i = 1, #KEYS do
  local stamp = redis.pcall("HGET", KEYS[i], "timestamp")
  results[i] = false
  if type(stamp) == "string" and #stamp <= 24 and string.find(stamp, "^[%d.eE+-]+$") then
    local ms = tonumber(stamp)
    if ms and ms >= 0 and ms <= LAST then results[i] = ms end
  end
end
return results
