-- In which of its queue's collections a job is. Lists of any length: looked through only when nothing else holds it.
local SETS = { "completed", "failed", "delayed", "prioritized", "waiting-children" }

local SHORT = 1000 -- entries of a list that is looked through for each of many jobs

-- The state, and the score or (in lists) nothing. For a list that is long this costs as long as LPOS does: for one job.
local function state_of(prefix, id)
  for _, name in ipairs(SETS) do
    local score = call("ZSCORE", prefix .. name, id)
    if score then return name, score end
  end
  if call("LPOS", prefix .. "active", id) then return "active" end
  if call("LPOS", prefix .. "wait", id, "RANK", -1) or call("LPOS", prefix .. "paused", id, "RANK", -1) then
    return "waiting"
  end
  return "unknown"
end

-- The state of a job that must be in some list, unless it is in no collection at all. What has begun to wait or to run
-- has no `finishedOn`, and what runs has a lock.
local function state_by_hash(prefix, id)
  if redis.pcall("HEXISTS", prefix .. id, "finishedOn") ~= 0 then return "unknown" end
  return call("EXISTS", prefix .. id .. ":lock") == 1 and "active" or "waiting"
end

-- The state and score of one of many, which are not looked for in lists that are long: there its hash tells.
local function state_among(prefix, id)
  for _, name in ipairs(SETS) do
    local score = call("ZSCORE", prefix .. name, id)
    if score then return name, score end
  end
  local unsure = false
  for name, state in pairs({ active = "active", wait = "waiting", paused = "waiting" }) do
    if call("LLEN", prefix .. name) > SHORT then
      unsure = true
    elseif call("LPOS", prefix .. name, id) then
      return state
    end
  end
  return unsure and state_by_hash(prefix, id) or "unknown"
end
