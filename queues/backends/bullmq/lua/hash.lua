-- One hash as it stands, small values whole. ARGV: most fields to list, longest value to give back of a field
-- that is not named here, then pairs of a field's name and the longest value to give back of it.
-- Back: the type of the key, how many fields there are, then name, length and value (false = longer) of each:
-- first the named ones that exist, then others up to the limit; a choice of them where there are over 10,000.
local kind = redis.call("TYPE", KEYS[1]).ok
if kind ~= "hash" then return {kind, 0, {}} end
local limit, cap, rows, named = tonumber(ARGV[1]), tonumber(ARGV[2]), {}, {}

local function add(name, most)
  local length = redis.call("HSTRLEN", KEYS[1], name)
  local value = false
  if length <= most then
    value = redis.call("HGET", KEYS[1], name)
    if not value then return end
  end
  rows[#rows + 1], rows[#rows + 2], rows[#rows + 3] = name, length, value
end

for i = 3, #ARGV, 2 do
  named[ARGV[i]] = true
  add(ARGV[i], tonumber(ARGV[i + 1]))
end
local total = redis.call("HLEN", KEYS[1])
local names
if total <= 10000 then
  names = redis.call("HKEYS", KEYS[1])
else
  names = redis.pcall("HRANDFIELD", KEYS[1], limit)  -- Redis 6.2; older servers show the named ones only
  if names.err then names = {} end
end
table.sort(names)
for _, name in ipairs(names) do
  if #rows >= limit * 3 then break end
  if not named[name] then add(name, cap) end
end
return {kind, total, rows}
