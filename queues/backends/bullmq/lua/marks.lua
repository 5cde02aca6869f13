-- Where sorted sets of failed jobs stand. For each key back: false where it is none, else how many members,
-- the lowest score, the highest, and the member that has it, cut. ARGV: the most bytes of a member.
local results = {}
for i = 1, #KEYS do
  local count = redis.pcall("ZCARD", KEYS[i])
  if type(count) ~= "number" then
    results[i] = false
  elseif count == 0 then
    results[i] = {0}
  else
    local low = redis.call("ZRANGE", KEYS[i], 0, 0, "WITHSCORES")
    local high = redis.call("ZRANGE", KEYS[i], -1, -1, "WITHSCORES")
    results[i] = {count, low[2], high[2], string.sub(high[1], 1, tonumber(ARGV[1]))}
  end
end
return results
