-- needs: queue, holding, receipt, adding, sent
-- New jobs, in this order, each with a receipt: what a plan has sent is not sent again.
-- ARGV: how many receipts to forget and these, the plan's token, "1" where an id that is taken gives way to the next
-- number, "1" to let two jobs of one deduplication id wait, then for each job its receipt, id ("" = the next number), name, data, options (as they are stored), options
-- without the id, timestamp ("" = now), delay, priority, "1" for lifo, deduplication id and ms to live ("" = none).
-- Back: the server's ms, and for each job "done" with the id it got, "again" or "already" with what its receipt says
-- (see `sent_before`), or an outcome, nothing, and why it was not sent, with what that names.
local forgets = tonumber(ARGV[1])
local plan, new_ids, twins, WIDTH = ARGV[forgets + 2], ARGV[forgets + 3] == "1", ARGV[forgets + 4] == "1", 12
local results, now = {}, string.format("%.0f", now_ms())
forget_receipts(2, forgets)
memo = {}

local function sent(from)
  local token, id, deduplication = ARGV[from], ARGV[from + 1], ARGV[from + 10]
  local before = sent_before(receipt_of(token), plan)
  if before then return before end
  if once("four", base, is_four) then return { "unsupported", "", "four" } end
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
  }, function(new) leave_sent(token, plan, new, now, "") end)
  return { "done", made }
end

for from = forgets + 5, #ARGV, WIDTH do
  if is_enough() then break end
  results[#results + 1] = sent(from)
end
return { now, results }
