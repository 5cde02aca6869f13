-- needs: queue, where, parents, holding, removing, hints, receipt
-- Jobs that were sent and that no worker has begun, back to where they were before. ARGV: for each its id, what was
-- taken from it (see `what_was`), and where in a list: "" = look for it, "-" = in none, "?" = not looked for yet, else
-- a hint ("again" where it has to be looked for). Back: for each an outcome, where the job is, a reason.
local results, untold = {}, {}
local NOW = { "timestamp", "deid", "processedOn", "finishedOn", "atm", "ats", "attemptsMade" }
local STATES = { failed = true, completed = true }

local function read_was(packed)
  local ok, was = pcall(cmsgpack.unpack, packed)
  if not ok or type(was) ~= "table" then return nil end
  for at = 1, #was do
    if type(was[at]) ~= "string" then return nil end
  end
  if #was < 4 or #was % 2 == 1 or not STATES[was[1]] or not tonumber(was[2]) then return nil end
  return was
end

-- Whether a worker has begun it since it was sent: then it says when, or more of its attempts.
local function has_begun(now, was, reset)
  local meant = {}
  for at = 5, #was, 2 do
    if not reset then meant[was[at]] = was[at + 1] end
  end
  for at = 5, #NOW do
    if (now[at] or nil) ~= meant[NOW[at]] then return true end
  end
  return (now[3] or now[4]) and true or false
end

-- Where it waits: "prioritized", or the list and the index in it; "again" where reads have to find it.
local function waits_at(id, hint)
  if call("ZSCORE", base .. "prioritized", id) then return "prioritized" end
  if hint == "?" then return "again" end
  if hint ~= "" and hint ~= "-" then
    local name, index = hinted(base, id, hint)
    return name or "again", index
  end
  for _, name in ipairs({ "wait", "paused" }) do
    took(call("LLEN", base .. name), PASSED)
    local index = call("LPOS", base .. name, id)
    if index then return name, index end
  end
end

-- Its fields, its deduplication and what its parent knows as they were before.
local function restore(id, was, flags, deduplication)
  local key, fields = base .. id, {}
  for at = 5, #was do fields[#fields + 1] = was[at] end
  if #fields > 0 then call("HSET", key, unpack(fields)) end
  if string.find(flags, "h", 1, true) then let_deduplication_go(id, deduplication) end
  if string.find(flags, "p", 1, true) then untold[#untold + 1] = { key, was[1] } end
end

local function told(was, name)
  for at = 5, #was, 2 do
    if was[at] == name then return was[at + 1] end
  end
  return ""
end

local function taken_back(id, packed, hint)
  local key, was = base .. id, read_was(packed)
  if not was then return { "unsupported", "", "unread" } end
  local state, score, token, flags = was[1], was[2], was[3], was[4]
  local there = call("ZSCORE", base .. state, id)
  if there then return { tonumber(there) == tonumber(score) and "already" or "wrong-state", state } end
  local now = redis.pcall("HMGET", key, unpack(NOW))
  if now.err or not now[1] and call("EXISTS", key) == 0 then return { "gone", "" } end
  if string.find(flags, "v", 1, true) then return { "unsupported", "", "long" } end
  local lock = locked_for(key)
  if lock then return { "locked", lock } end
  if has_begun(now, was, string.find(flags, "r", 1, true)) then
    return { "wrong-state", (state_among(base, id)), "begun" }
  end
  local place, index = waits_at(id, hint)
  if place == "again" then return { "again", "" } end
  if not place then return { "wrong-state", (state_among(base, id)), "moved" } end
  call("ZADD", base .. state, score, id)
  take_from(base, place, id, index)
  restore(id, was, flags, now[2])
  call("UNLINK", receipt_key(token))
  local field = state == "failed" and "failedReason" or "returnvalue"
  tell(base, state, "jobId", id, field, told(was, field), "prev", place == "prioritized" and place or "waiting")
  return { "done", state }
end

-- A parent is told of the end of a child as it was before: as far as it still waits for that.
local function tell_parent(key, state)
  if state == "failed" then return tell_parent_of_failure(key, call("HGET", key, "failedReason") or "", now_ms()) end
  local parent, prefix, id = parent_of(key)
  if not parent or call("SREM", parent .. ":dependencies", key) == 0 then return end
  call("HSET", parent .. ":processed", key, call("HGET", key, "returnvalue") or "null")
  if call("SCARD", parent .. ":dependencies") == 0 then parent_goes_on(prefix, id) end
end

for i = 1, #ARGV, 3 do
  if is_enough() then break end
  results[#results + 1] = taken_back(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
take_out()
for _, each in ipairs(untold) do tell_parent(unpack(each)) end
return results
