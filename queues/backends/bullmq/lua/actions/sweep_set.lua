-- needs: queue, where, parents, removing, ranked, sweeping
-- A step over a sorted set, by its order. ARGV: the set's name; the clock ("finished", "due" or "created"); the moment
-- before which that must stand; "1" where jobs without an age go too; how many to look at; score and id of the last one
-- that was left ("" at first). Back: how many went, how many were looked at, kept (outcome, count, ...), examples,
-- score and id of the last one that was left, 1 at the end.
if major_of(base) == 4 then return "unsupported" end
local set, clock, before, all = base .. ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == "1"
local size, score, id = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local found = behind(set, score, id, size)
local ended, going, known, seen = #found < 2 * size, {}, {}, 0

for i = 1, #found, 2 do
  local at, goes = tonumber(found[i + 1]), nil
  if is_enough() then
    ended = false
    break
  end
  local fields = hash_of(base, found[i])
  if clock == "due" then at = math.floor(at / 4096) end
  if clock == "created" then
    goes = is_old(found[i], fields, before, all)
  elseif at >= before then
    ended = true
    break
  else
    goes = true
  end
  seen = seen + 1
  if goes and may_go(base, found[i]) then
    going[#going + 1], known[#going + 1] = found[i], fields
  else
    id, score = found[i], found[i + 1]
  end
end

for first = 1, #going, 5000 do call("ZREM", set, unpack(going, first, math.min(first + 4999, #going))) end
for number, gone in ipairs(going) do forget(base, gone, true, known[number]) end
settle()
if not all and #going > 0 then tell(base, "cleaned", "count", #going) end
return { #going, seen, kept_counts(), examples, score, id, ended and 1 or 0 }
