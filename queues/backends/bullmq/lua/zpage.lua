-- A stretch of one or more sorted sets, from an anchor on, so that a page stays in place while members come and go.
-- ARGV: "up" or "down" the scores, how many, then the anchor: score ("" = from the end), id, number of its key.
-- Keys are taken as merged in the order score, number of key, id. For each key back: its length, how many
-- members lie on the other side of the anchor, then members and scores alternating. Scripts are short
-- whatever the length: an anchor that is gone is found by halving among the members of its score.
local up, size = ARGV[1] == "up", tonumber(ARGV[2])
local score, id, owner = ARGV[3], ARGV[4], tonumber(ARGV[5])

-- Redis orders members by their bytes; Lua's own < follows the locale.
local function before(a, b)
  local n = math.min(#a, #b)
  for i = 1, n do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many members come before the anchor, and whether it is still there.
local function place(key)
  local low = redis.call("ZCOUNT", key, "-inf", "(" .. score)
  local high = low + redis.call("ZCOUNT", key, score, score)
  local last = high
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(redis.call("ZRANGE", key, middle, middle)[1], id) then low = middle + 1 else high = middle end
  end
  local there = low < last and redis.call("ZRANGE", key, low, low)[1] == id
  return low, there
end

-- The rank at which going up begins, and the rank below which going down begins.
local function anchored(number)
  local key = KEYS[number]
  if number < owner then
    local all = redis.call("ZCOUNT", key, "-inf", score)
    return all, all
  elseif number > owner then
    local lower = redis.call("ZCOUNT", key, "-inf", "(" .. score)
    return lower, lower
  end
  local low, there = place(key)
  return there and low + 1 or low, low
end

local results = {}
for number = 1, #KEYS do
  local length = redis.pcall("ZCARD", KEYS[number])
  if type(length) ~= "number" then
    results[number] = false
  else
    local start, stop, other
    local above, below = 0, length
    if score ~= "" then above, below = anchored(number) end
    if up then
      start, stop, other = above, above + size - 1, above
    else
      start, stop, other = math.max(below - size, 0), below - 1, length - below
    end
    local members = {}
    if stop >= start then members = redis.call("ZRANGE", KEYS[number], start, stop, "WITHSCORES") end
    results[number] = {length, other, members}
  end
end
return results
