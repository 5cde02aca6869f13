-- The beginning of one field that is too long to send whole. ARGV: field, bytes wanted, longest field to touch.
local length = redis.call("HSTRLEN", KEYS[1], ARGV[1])
if length > tonumber(ARGV[3]) then return {length, ""} end
local value = redis.call("HGET", KEYS[1], ARGV[1])
return {length, value and string.sub(value, 1, tonumber(ARGV[2])) or false}
