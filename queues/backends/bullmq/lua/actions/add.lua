-- needs: queue, where, receipt, adding
-- A new job, as BullMQ's own scripts add it. ARGV: a token, its id ("" = the next number), name, data, options (as they
-- are stored), then what of those is needed here: timestamp ("" = now), delay, priority, "1" for lifo,
-- deduplication id and ms to live ("" = none). Back: an outcome, a state, the id made (or in the way).
local token, id, deduplication = ARGV[1], ARGV[2], ARGV[10]
if is_four(base) then return { "unsupported", "", "" } end
local made = receipt_of(token)
if made then return { "already", "", made } end
if id ~= "" and call("EXISTS", base .. id) == 1 then return { "already", (state_of(base, id)), "" } end
local holder = deduplication ~= "" and call("GET", base .. "de:" .. deduplication)
if holder then
  return { "changed", call("EXISTS", base .. holder) == 1 and state_of(base, holder) or "gone", holder }
end
local job = {
  id = id, name = ARGV[3], data = ARGV[4], opts = ARGV[5], timestamp = ARGV[6], delay = ARGV[7], priority = ARGV[8],
  lifo = ARGV[9] == "1", deduplication = deduplication, ttl = ARGV[11],
}
local state, added = add(job, function(new) leave_receipt(token, new) end)
return { "done", state, added }
