-- What plans have sent: a receipt for each job, kept for seven days, which says by which plan, under which id, when,
-- and what was taken from the job. Needs queue, receipt.
local SENT_MS = 604800000

-- Whoever sends and was held up on the way, so that another has taken over by now, sends no more.
local function is_late(now, until_ms)
  return until_ms ~= "" and tonumber(now) > tonumber(until_ms)
end

local function leave_sent(token, plan, made, at, was, prefix)
  leave_receipt(token, cmsgpack.pack(plan, made, at, was), SENT_MS, prefix)
end

-- What a receipt says; empty where it says nothing that we understand.
local function read_sent(receipt)
  local parts = { pcall(cmsgpack.unpack, receipt) }
  for at = 2, 5 do
    if not parts[1] or type(parts[at]) ~= "string" then parts[at] = "" end
  end
  return { unpack(parts, 2, 5) }
end

-- The result for one that was sent before: "again" where the same plan did that, else "already", then what the receipt
-- says. Nothing where there is none.
local function sent_before(receipt, plan)
  if not receipt then return nil end
  local said = read_sent(receipt)
  return { said[1] == plan and "again" or "already", said[1], said[2], said[3], said[4] }
end

local function receipts_of(tokens)
  local keys = {}
  for at, token in ipairs(tokens) do keys[at] = receipt_key(token) end
  return call("MGET", unpack(keys))
end

-- Forgets so many receipts, whose tokens stand in ARGV from there on.
local function forget_receipts(from, number)
  local keys = {}
  for at = from, from + number - 1 do keys[#keys + 1] = receipt_key(ARGV[at]) end
  if #keys > 0 then call("UNLINK", unpack(keys)) end
end
