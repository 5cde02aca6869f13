-- In which of its queue's collections a job is. Lists of any length: looked through only when nothing else holds it.
local SETS = { "completed", "failed", "delayed", "prioritized", "waiting-children" }

-- The state, and the score or (in lists) nothing. For a list that is long this costs as long as LPOS does.
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
