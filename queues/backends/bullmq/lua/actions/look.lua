-- needs: queue, where, parents, damage, holding, retrying, many
-- What stands in the way of sending jobs; reads only. ARGV: their state, then for each its id and what was seen of it
-- ("" = whichever stay). Back: for each an outcome ("" = nothing is in the way), where it is, a reason and what that
-- names (see `not_retried`), its name, timestamp, score, attempts made, and as many as it may make ("" = not known).
local state = ARGV[1]
local ended = state == "completed" or state == "failed"
local LOOKED, NAME, NAME_READ = 0.08, 200, 4096 -- jobs in a millionth of a second; bytes of a name
local LETTERS = { waiting = true, prioritized = true, delayed = true }
local FIELDS = { "deid", "parentKey", "parent", "atm", "attemptsMade" }
local ids, results = {}, {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
LONGEST.name = NAME_READ

local scores = ended and scores_of(state, ids)
local find = not ended and finder(ids)

local function attempts_of(opts)
  if not opts or not string.find(opts, "^%s*{") then return "" end
  local ok, read = pcall(cjson.decode, opts)
  if not ok or type(read) ~= "table" then return "" end
  local most = tonumber(read.attempts or 0)
  return most and string.format("%.0f", most) or ""
end

-- Why a letter is not copied, and where it is.
local function not_copied(at, seen, found)
  if not found or (not found.timestamp and call("EXISTS", base .. ids[at]) == 0) then return { "gone", "" } end
  local now, score = find(at)
  local same = seen == "" or seen == score or tonumber(seen) == tonumber(found.timestamp or "")
  if not LETTERS[now] or not same then return { "wrong-state", now } end
  return nil, score
end

local function looked(at, seen)
  local id = ids[at]
  local found, long = fields_of(base .. id, FIELDS)
  local why, score
  if ended then
    score = scores[at]
    why = not_retried(id, seen, state, score, found, false) or without_parent(id, state, found)
  else
    why, score = not_copied(at, seen, found)
  end
  found, why = found or {}, why or {}
  local name = not (long and long.name) and found.name or ""
  return {
    why[1] or "", why[2] or "", why[3] or "", why[4] or "", string.sub(name, 1, NAME), found.timestamp or "",
    score or "", found.atm or found.attemptsMade or "", attempts_of(not (long and long.opts) and found.opts),
  }
end

for at = 1, #ids do
  if is_enough() then break end
  took(1, LOOKED)
  results[at] = looked(at, ARGV[2 * at + 1])
end
return results
