-- needs: queue, where, parents, damage
-- Failed or completed jobs back to where they wait. ARGV: "failed" or "completed", "1" to forget the attempts, "1" to
-- let two jobs of one deduplication id wait, then for each job its id and its score as it was seen ("" = whichever).
-- Back: for each an outcome, where the job is, a reason, and what the reason names.
local state, reset, twins = ARGV[1], ARGV[2] == "1", ARGV[3] == "1"
local results = {}
memo = {}

-- The options, where one of those that matter here may be among them.
local function options_of(text, deduplication)
  if not text or not (deduplication or string.find(text, "lifo", 1, true)) then return {} end
  local ok, opts = pcall(cjson.decode, text)
  return ok and type(opts) == "table" and opts or {}
end

-- Another job that has not ended and holds this one's deduplication id. A holder that has ended only keeps new jobs
-- away for a time.
local function other_holder(id, deduplication)
  local holder = deduplication and call("GET", base .. "de:" .. deduplication)
  if not holder or holder == id or call("EXISTS", base .. holder) == 0 then return nil end
  if call("ZSCORE", base .. "completed", holder) or call("ZSCORE", base .. "failed", holder) then return nil end
  return holder
end

-- The job holds its deduplication id as when it was added: until it ends. BullMQ lets it go when a job ends and does
-- not take it back, so that a producer could add a twin. Where the id is held for a time only, that time is over.
local function hold_again(id, deduplication, opts)
  local settings = deduplication and type(opts.de) == "table" and opts.de
  if not settings or (tonumber(settings.ttl) or 0) > 0 or other_holder(id, deduplication) then return end
  call("SET", base .. "de:" .. deduplication, id)
end

local function retried(id, seen)
  local key = base .. id
  local score = call("ZSCORE", base .. state, id)
  local found = fields_of(key, "priority", "deid", "parentKey", "parent")
  if not found.timestamp and call("EXISTS", key) == 0 then
    return { "gone", score and state or "" }
  end
  if not score then
    local now = state_among(base, id)
    local waits = now == "waiting" or now == "prioritized" or now == "active"
    return { waits and "already" or "wrong-state", now }
  end
  if seen ~= "" and tonumber(seen) ~= tonumber(score) then return { "wrong-state", state } end
  local damaged = damage_of(key, found)
  if damaged then return { "unsupported", state, "damaged", damaged } end
  local holder = not twins and other_holder(id, found.deid)
  if holder then return { "unsupported", state, "twin", holder } end
  local opts = options_of(found.opts, found.deid)
  local priority = tonumber(found.priority or "") or 0
  enqueue(base, id, opts.lifo == true and priority == 0, priority)
  call("ZREM", base .. state, id)
  call("HDEL", key, "finishedOn", "processedOn", "failedReason", "returnvalue", "defa")
  -- 4.x calls it attemptsMade; `ats` is what stands behind "attempt 3" on 5.x and 6.x.
  if reset then call("HDEL", key, "atm", "ats", "attemptsMade", "stc", "stalledCounter") end
  hold_again(id, found.deid, opts)
  local child = found.parentKey or found.parent
  local reason = child and await_again(key, state, { found.parentKey, found.parent }) or ""
  if reason == "" and call("EXISTS", key .. ":dependencies") == 1 then reason = "children" end
  tell(base, "waiting", "jobId", id, "prev", state)
  return { "done", "", reason }
end

for i = 4, #ARGV, 2 do
  if is_enough() then break end
  results[#results + 1] = retried(ARGV[i], ARGV[i + 1])
end
return results
