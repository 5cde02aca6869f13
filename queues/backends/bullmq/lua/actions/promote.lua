-- needs: queue, where, damage
-- Delayed jobs to where they wait. ARGV: for each job its id and its score as it was seen ("" = whichever).
-- Back: for each an outcome, where the job is, a reason, and what the reason names.
local results = {}

-- A job that asked to be taken before others (`lifo`) is, though BullMQ forgets that when a delay ends.
local function is_first(key)
  local opts = call("HGET", key, "opts") or ""
  if not string.find(opts, '"lifo"', 1, true) then return false end
  local ok, read = pcall(cjson.decode, opts)
  local first = ok and type(read) == "table" and read.lifo == true
  return first and (tonumber(call("HGET", key, "priority") or "") or 0) == 0
end

local function promoted(id, seen)
  local key = base .. id
  local score = call("ZSCORE", base .. "delayed", id)
  if call("EXISTS", key) == 0 then return { "gone", score and "delayed" or "" } end
  if not score then
    local now = state_among(base, id)
    local waits = now == "waiting" or now == "prioritized" or now == "active"
    return { waits and "already" or "wrong-state", now }
  end
  if seen ~= "" and tonumber(seen) ~= tonumber(score) then return { "changed", "delayed" } end
  if is_next_run(id) then return { "scheduled", "delayed" } end
  local damaged = damage_of(key)
  if damaged then return { "unsupported", "delayed", "damaged", damaged } end
  enqueue(base, id, is_first(key))
  call("ZREM", base .. "delayed", id)
  call("HSET", key, "delay", 0)
  tell(base, "waiting", "jobId", id, "prev", "delayed")
  return { "done", "" }
end

for i = 1, #ARGV, 2 do
  if is_enough() then break end
  results[#results + 1] = promoted(ARGV[i], ARGV[i + 1])
end
return results
