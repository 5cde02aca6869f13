-- needs: queue, ranked
-- Members of a sorted set behind one; reads only. ARGV: the set's name, score and id of that one ("" at first), how
-- many, the highest score ("+inf"). Back: ids and scores in turn, and 1 at the end.
local found, most = behind(base .. ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])), tonumber(ARGV[5]) or math.huge
local ended = #found < 2 * tonumber(ARGV[4])
while #found > 0 and tonumber(found[#found]) > most do
  found[#found], found[#found - 1] = nil, nil
  ended = true
end
return { found, ended and 1 or 0 }
