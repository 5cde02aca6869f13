-- What a call has made, kept for a day (or `ms`) under the token of that call: the same call again makes nothing.
-- `<queue>:mirante:<token>`: tokens hold no colon, and so no job of BullMQ can have such a key.
local RECEIPT_MS = 86400000

local function receipt_key(token)
  return base .. "mirante:" .. token
end

local function receipt_of(token)
  return call("GET", receipt_key(token))
end

local function leave_receipt(token, made, ms)
  call("SET", receipt_key(token), made, "PX", ms or RECEIPT_MS)
end
