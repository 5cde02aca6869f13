-- needs: queue, where, parents, removing, sweeping
-- A step over a list, from its tail on. ARGV: the list's name; ms before which jobs must have been made; "1" where
-- jobs without an age go too; how many to look at; how many at the tail were left by the steps before; "1" for a second
-- look, which is only taken where one of the ids that follow stands; two ids up to which is looked (what stood at the
-- heads of both lists at first); two that are not reached (what stood before those when they were met; "*" = none did,
-- but look again all the same).
-- Back: how many went, how many were looked at, kept (outcome, count, ...), examples, how many are left at the tail
-- now, 1 at the end, and then what is not to be reached in a second look.
if major_of(base) == 4 then return "unsupported" end
local list, before, all = base .. ARGV[1], tonumber(ARGV[2]), ARGV[3] == "1"
local size, left = tonumber(ARGV[4]), tonumber(ARGV[5])
local second, last, beyond, there = ARGV[6] == "1", {}, {}, false
for i = 7, 10 do
  local id = ARGV[i]
  if id and id ~= "" then
    (i < 9 and last or beyond)[id] = true
    -- Mostly at the head; the list may be a long one.
    there = there or second
      and (id == "*" or call("LPOS", list, id, "MAXLEN", 1000) or call("LPOS", list, id, "RANK", -1))
  end
end
if second and not there then return { 0, 0, {}, {}, 0, 1, "" } end

local high = call("LLEN", list) - left - 1
local low = math.max(high - size + 1, 0)
local ids = high >= 0 and call("LRANGE", list, low, high) or {}
local ended, going, known, stayed, above = low == 0, {}, {}, 0, ""

for at = #ids, 1, -1 do
  local id = ids[at]
  if is_enough() then
    ended = false
    break
  end
  if second and beyond[id] then
    ended = true
    break
  end
  local fields = hash_of(base, id)
  if not is_marker(id) and is_old(id, fields, before, all) and may_go(base, id) then
    going[#going + 1], known[#going + 1] = at, fields
  else
    stayed = stayed + 1
  end
  if last[id] then
    ended = true
    above = low + at >= 2 and call("LINDEX", list, low + at - 2) or ""
    break
  end
end

if left == 0 and stayed == 0 and #going > 0 then
  call("LTRIM", list, 0, -#going - 1)
else
  for _, at in ipairs(going) do cover(list, low + at - 1) end
end
for number, at in ipairs(going) do forget(base, ids[at], true, known[number]) end
settle()
if not all and #going > 0 then tell(base, "cleaned", "count", #going) end
if ended and above == "" and left + stayed > 0 then above = "*" end
return { #going, #going + stayed, kept_counts(), examples, left + stayed, ended and 1 or 0, above }
