-- Jobs in lists that are long: they were looked for by reads a moment before, and a hint says where each was, by `w` or
-- `p` (wait, paused) and how far from the tail; "-" where it was not found.
local LISTS = { w = "wait", p = "paused" }
local drift = {} -- others' moves since then are learnt on the way

-- The index of an id that was `distance` entries from the tail.
local function near(list, id, distance)
  local length = call("LLEN", list)
  for _, reach in ipairs({ 2, 32, 2000 }) do
    local middle = length - distance - (drift[list] or 0)
    local first = math.max(middle - reach, 0)
    if middle + reach >= 0 then
      took(2 * reach, PASSED)
      for offset, found in ipairs(call("LRANGE", list, first, middle + reach)) do
        if found == id then
          drift[list] = length - (first + offset - 1) - distance
          return first + offset - 1
        end
      end
    end
  end
end

-- List and index of an id; nothing where it is not near the place of its hint.
local function hinted(prefix, id, hint)
  local name = LISTS[string.sub(hint, 1, 1)]
  local index = name and near(prefix .. name, id, tonumber(string.sub(hint, 2)))
  if index then return name, index end
end
