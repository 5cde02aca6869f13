-- needs: queue, holding, receipt, adding, sent, where, parents, removing, beside
-- New jobs, in this order, each with a receipt: what a plan has sent is not sent again. The receipt of a copy is kept
-- beside what it is a copy of, so that this is copied once wherever to.
-- ARGV: how many receipts to forget and these, until when anything is sent (ms of the server; "" = whenever it comes),
-- the
-- plan's token, "1" where an id that is taken gives way to the next
-- number, "1" to let two jobs of one deduplication id wait, then for each job its receipt, id ("" = the next number),
-- name, data, options (as they are stored), options without the id, timestamp ("" = now), delay, priority, "1" for
-- lifo, deduplication id and ms to live ("" = none); what it is a copy of: what the keys of its queue begin with ("" =
-- of nothing), its id, what was seen of it ("" = whichever stay), the set that it must be in ("" = it waits), "1" where
-- it goes; and a letter that goes, too: what the keys of its queue begin with ("" = none), its id.
-- Back: the server's ms, and for each job "done" with the id it got and "1" where all that goes is away, "again" or
-- "already" with what its receipt says (see `sent_before`), or an outcome, nothing, and why it was not sent, with what
-- that names.
-- Of none where it is too late.
local forgets = tonumber(ARGV[1])
local results, now = {}, string.format("%.0f", now_ms())
if is_late(now, ARGV[forgets + 2]) then return { now, {} } end
local plan, new_ids, twins, WIDTH = ARGV[forgets + 3], ARGV[forgets + 4] == "1", ARGV[forgets + 5] == "1", 19
forget_receipts(2, forgets)
memo = {}

-- Whether all is away by now that is to go with a job.
local function took_all(from, place, side)
  local goes, letters = ARGV[from + 16] == "1", ARGV[from + 17]
  local away = not goes or take_away(ARGV[from + 12], ARGV[from + 13], place, side)
  if letters ~= "" then away = take_letter(letters, ARGV[from + 18]) and away end
  return away and (goes or letters ~= "") and "1" or ""
end

local function sent(from)
  local token, id, deduplication = ARGV[from], ARGV[from + 1], ARGV[from + 10]
  local origin = ARGV[from + 12] ~= "" and ARGV[from + 12] or nil
  local before = sent_before(receipt_of(token, origin), plan)
  if before then return before end
  if once("four", base, is_four) then return { "unsupported", "", "four" } end
  local place, side, was
  if origin then
    place, side, was = stands(origin, ARGV[from + 13], ARGV[from + 14], ARGV[from + 15])
    if not place then return { side, was } end
  end
  local taken = id ~= "" and call("EXISTS", base .. id) == 1
  if taken and not new_ids then return { "unsupported", "", "id", id } end
  local holder = deduplication ~= "" and other_holder("", deduplication)
  if holder and not twins then return { "unsupported", "", "twin", holder } end
  took(#ARGV[from + 3], 500)
  local _state, made = add({
    id = taken and "" or id, name = ARGV[from + 2], data = ARGV[from + 3],
    opts = ARGV[from + (taken and 5 or 4)], timestamp = ARGV[from + 6], delay = ARGV[from + 7],
    priority = ARGV[from + 8], lifo = ARGV[from + 9] == "1", deduplication = deduplication, ttl = ARGV[from + 11],
    twin = holder,
  }, function(new) leave_sent(token, plan, new, now, "", origin) end)
  return { "done", made, took_all(from, place, side) }
end

for from = forgets + 6, #ARGV, WIDTH do
  if is_enough() then break end
  results[#results + 1] = sent(from)
end
return { now, results }
