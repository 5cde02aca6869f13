-- Whether a hash is a job's. A queue's own keys have names that could be ids: `meta`, `repeat:<scheduler>`; these have
-- no timestamp, which each job has unless it is damaged. As `looks_like_a_job` says for reading.
local function is_job(key, id)
  if call("TYPE", key).ok ~= "hash" then return false end
  local found = call("HMGET", key, "timestamp", "data", "opts", "name")
  if found[1] then return true end
  return not string.match(id, "^repeat:[^:]*$") and (found[2] or found[3] or found[4]) and true or false
end
