-- A job's parent in a flow. A parent's key is taken from the job; its own queue's keys begin with what precedes its id.

-- Ids hold no colon, or exactly two (`repeat:<scheduler>:<ms>` included), and so the id of a parent is found by asking
-- which split names a queue: the shortest one whose meta or waiting-children key exists.
local function split(key)
  for _, pattern in ipairs({ "^(.*:)([^:]+)$", "^(.*:)([^:]+:[^:]+:[^:]+)$" }) do
    local prefix, id = string.match(key, pattern)
    if prefix and (call("EXISTS", prefix .. "meta") == 1 or call("EXISTS", prefix .. "waiting-children") == 1) then
      return prefix, id
    end
  end
  return string.match(key, "^(.*:)([^:]+)$")
end

-- A child that runs again: its parent waits for it once more, where it had been told of its end
-- (BullMQ 6: includes/moveChildBackToParentDependencies). A parent that has gone on does not come back.
local function await_again(key, was)
  local parent = call("HGET", key, "parentKey")
  if not parent or parent == "" or call("EXISTS", parent) == 0 then return end
  local told = 0
  if was == "failed" then
    told = call("ZREM", parent .. ":unsuccessful", key) + call("HDEL", parent .. ":failed", key)
  else
    told = call("HDEL", parent .. ":processed", key)
  end
  if told > 0 then call("SADD", parent .. ":dependencies", key) end
end
