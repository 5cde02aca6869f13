-- Lines of a log, each cut. ARGV: first index, how many, longest line to give back, bytes to touch before stopping.
-- Back: how many lines there are, then size and beginning of each.
local total = redis.pcall("LLEN", KEYS[1])
if type(total) ~= "number" then return {0, {}} end
local first, size, cap, budget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local rows = {}
for index = first, math.min(first + size, total) - 1 do
  local line = redis.call("LINDEX", KEYS[1], index)
  rows[#rows + 1], rows[#rows + 2] = #line, string.sub(line, 1, cap)
  budget = budget - #line
  if budget < 0 then break end
end
return {total, rows}
