-- When jobs were created: for each job hash its timestamp, or false where there is none of a sane length.
local results = {}
for i = 1, #KEYS do
  local stamp = redis.pcall("HGET", KEYS[i], "timestamp")
  results[i] = type(stamp) == "string" and #stamp <= 24 and stamp or false
end
return results
