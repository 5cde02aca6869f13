-- `size` members of a sorted set with their scores, flat (fewer only at its end), behind one with this score ("" = from
-- the first on). It need not be there any more: then those of its score count by their names.
local function behind(set, score, id, size)
  if score == "" then return call("ZRANGE", set, 0, size - 1, "WITHSCORES") end
  local rank = call("ZSCORE", set, id) == score and call("ZRANK", set, id)
  if rank then return call("ZRANGE", set, rank + 1, rank + size, "WITHSCORES") end
  local first, found = call("ZCOUNT", set, "-inf", "(" .. score), {}
  while true do
    local part = call("ZRANGE", set, first, first + size - 1, "WITHSCORES")
    for i = 1, #part, 2 do
      if #found == 2 * size then return found end
      if part[i + 1] ~= score or part[i] > id then
        found[#found + 1], found[#found + 2] = part[i], part[i + 1]
      end
    end
    if #part < 2 * size then return found end
    first = first + size
  end
end
