-- What a call has made, kept for a day (or `ms`) under the token of that call: the same call again makes nothing.
-- `<queue>:mirante:<token>`, of our own queue where no other's `prefix` is given: tokens hold no colon, and so no job
-- of BullMQ can have such a key.
local RECEIPT_MS = 86400000

local function receipt_key(token, prefix)
  return (prefix or base) .. "mirante:" .. token
end

local function receipt_of(token, prefix)
  return call("GET", receipt_key(token, prefix))
end

local function leave_receipt(token, made, ms, prefix)
  call("SET", receipt_key(token, prefix), made, "PX", ms or RECEIPT_MS)
end
