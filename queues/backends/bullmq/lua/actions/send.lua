-- needs: queue, where, parents, damage, holding, retrying, many, receipt, sent, was, removing, beside
-- Failed or completed jobs back to where they wait, each with a receipt: what a plan has sent is not sent again.
-- ARGV: how many receipts to forget and these, until when anything is sent (ms of the server; "" = whenever it comes),
-- "failed" or "completed", the plan's token, "1" to forget the attempts,
-- "1" to let two jobs of one deduplication id wait, "1" to send children whose parents do not wait for them, "1" where
-- letters go with them, then for each job its id, its score as it was seen ("" = whichever), its receipt, and where
-- letters go what the keys of its letter's queue begin with ("" = none) and the letter's id.
-- Back: the server's ms, and for each job "done" with what was taken from it, a reason, and "1" where its letter is
-- away, "again" or "already" with what its receipt says (see `sent_before`), or why it was not sent (`not_retried`).
-- Of none where it is too late.
local forgets = tonumber(ARGV[1])
local now = string.format("%.0f", now_ms())
if is_late(now, ARGV[forgets + 2]) then return { now, {} } end
local from, plan = ARGV[forgets + 3], ARGV[forgets + 4]
local reset, twins, orphans = ARGV[forgets + 5] == "1", ARGV[forgets + 6] == "1", ARGV[forgets + 7] == "1"
local letters = ARGV[forgets + 8] == "1"
local ids, seen, tokens, posted = {}, {}, {}, {}
for i = forgets + 9, #ARGV, letters and 5 or 3 do
  local at = #ids + 1
  ids[at], seen[at], tokens[at] = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  posted[at] = letters and ARGV[i + 3] ~= "" and { ARGV[i + 3], ARGV[i + 4] } or nil
end
forget_receipts(2, forgets)
memo = {}

local receipts, scores = receipts_of(tokens), scores_of(from, ids)
local fields = { "priority", "deid", "parentKey", "parent" }
for at, name in ipairs(WAS) do
  if not LONGEST[name] and (reset or at <= TRIED) then fields[#fields + 1] = name end
end
local results, met = {}, {}
local run = {} -- jobs that go together since nothing is special about them, in their order

local function record(at, was, reason)
  leave_sent(tokens[at], plan, ids[at], now, was)
  tell(base, "waiting", "jobId", ids[at], "prev", from)
  local away = posted[at] and take_letter(posted[at][1], posted[at][2])
  results[at] = { "done", was, reason, away and "1" or "" }
end

local function is_plain(found)
  return not found.deid and not is_child(found) and not (tonumber(found.priority or "0") ~= 0)
    and not (found.opts and string.find(found.opts, "lifo", 1, true))
end

-- Sends those that go together. First all are where they wait, then they leave where they were.
local function send_run()
  if #run == 0 then return end
  local going, below = {}, {}
  for i, at in ipairs(run) do
    going[i], below[i] = ids[at], base .. ids[at] .. ":dependencies"
  end
  enqueue_all(base, going)
  call("ZREM", base .. from, unpack(going))
  local any = call("EXISTS", unpack(below)) > 0
  for i, at in ipairs(run) do
    forget_end(base .. going[i], reset)
    record(at, results[at], any and call("EXISTS", below[i]) == 1 and "children" or "")
  end
  run = {}
end

local function send_one(at, flags, found)
  local reason, held, told = wait_again(ids[at], from, reset, found)
  flags = flags .. (held and "h" or "") .. (told and "p" or "")
  record(at, what_was(from, scores[at], tokens[at], flags, found), reason)
end

local function send(at)
  local id, token = ids[at], tokens[at]
  if met[id] or met[token] then -- once more in this call: what has come of it counts
    send_run()
    receipts[at], scores[at] = receipt_of(token), call("ZSCORE", base .. from, id)
  end
  met[id], met[token] = true, true
  results[at] = sent_before(receipts[at], plan)
  if results[at] then return end
  local found, long = fields_of(base .. id, fields)
  results[at] = not_retried(id, seen[at], from, scores[at], found, twins)
    or not orphans and without_parent(id, from, found) or nil
  if results[at] then return end
  local flags = shorten(base .. id, found, long) .. (reset and "r" or "")
  if is_plain(found) then
    results[at] = what_was(from, scores[at], token, flags, found)
    run[#run + 1] = at
  else
    send_run()
    send_one(at, flags, found)
  end
end

for at = 1, #ids do
  if is_enough() then break end
  send(at)
end
send_run()
return { now, results }
