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

-- What a job says of its parent: its key, the prefix of its queue, its id, and the options of the link (fpof, cpof,
-- idof, rdof). Nothing where it has none. `stored` is both fields, where they have been read.
local function parent_of(key, stored)
  stored = stored or call("HMGET", key, "parentKey", "parent")
  local ok, link = pcall(cjson.decode, stored[2] or "")
  if not ok or type(link) ~= "table" then link = {} end
  if type(link.queueKey) == "string" and type(link.id) == "string" then
    return link.queueKey .. ":" .. link.id, link.queueKey .. ":", link.id, link
  end
  if not stored[1] or stored[1] == "" then return nil end
  local prefix, id = split(stored[1])
  if prefix then return stored[1], prefix, id, link end
end

-- Puts a parent where it waits: before others in the list, after others of its priority, as with BullMQ.
local function enqueue_parent(prefix, id, from)
  local priority = tonumber(call("HGET", prefix .. id, "priority") or "") or 0
  enqueue(prefix, id, not (priority > 0))
  call("ZREM", prefix .. from, id)
  tell(prefix, "waiting", "jobId", id, "prev", "waiting-children")
end

-- Tells workers of a moment for which a job waits: those of 4.x look for it in the list that they listen to.
local function wake_at(prefix, at)
  if major_of(prefix) ~= 4 then return wake_for_delayed(prefix) end
  if call("LLEN", prefix .. "wait") == 0 then call("LPUSH", prefix .. "wait", string.format("0:%.0f", at)) end
end

-- A parent that waited for its children goes on: it waits to be worked on, or for the end of its own delay
-- (BullMQ 6: includes/moveParentToWait). False where it did not wait for them (any more).
local function parent_goes_on(prefix, id)
  local key = prefix .. id
  if call("EXISTS", key) == 0 or not call("ZSCORE", prefix .. "waiting-children", id) then return false end
  local delay = tonumber(call("HGET", key, "delay") or "") or 0
  if delay > 0 then
    local at = now_ms() + delay
    call("ZADD", prefix .. "delayed", delayed_score(prefix, at), id)
    call("ZREM", prefix .. "waiting-children", id)
    tell(prefix, "delayed", "jobId", id, "delay", string.format("%.0f", at))
    wake_at(prefix, at)
  else
    enqueue_parent(prefix, id, "waiting-children")
  end
  return true
end

-- What has become of a parent that does not wait for its children; "" where it does.
local function fate_of_parent(parent, prefix, id)
  if call("EXISTS", parent) == 0 then return "parent-gone" end
  if call("ZSCORE", prefix .. "failed", id) then return "parent-failed" end
  return call("ZSCORE", prefix .. "waiting-children", id) and "" or "parent-gone-on"
end

-- A child that runs again: its parent waits for it once more, where it had been told of its end
-- (BullMQ 6: includes/moveChildBackToParentDependencies). Back: what has become of a parent that does not wait, and
-- whether it had been told. A parent that has gone on is left alone, since with a pending child it could not complete;
-- one that has a failed child in `unsuccessful` cannot either way.
local function await_again(key, was, stored)
  local parent, prefix, id = parent_of(key, stored)
  if not parent then return "", false end
  local fate = fate_of_parent(parent, prefix, id)
  if fate == "parent-gone" then return fate, false end
  local told = call("ZREM", parent .. ":unsuccessful", key)
  if fate ~= "parent-gone-on" then
    told = told + call("HDEL", parent .. (was == "failed" and ":failed" or ":processed"), key)
  end
  if told > 0 then call("SADD", parent .. ":dependencies", key) end
  return fate, told > 0
end

-- A child that has failed for good: its parent is told as the link's options say (BullMQ 5 and 6:
-- includes/moveChildFromDependenciesIfNeeded). Without options it goes on waiting for the child.
local function tell_parent_of_failure(key, reason, now)
  local parent, prefix, id, link = parent_of(key)
  if not parent or not (link.fpof or link.cpof or link.idof or link.rdof) then return end
  if call("SREM", parent .. ":dependencies", key) == 0 then return end
  if link.fpof then
    call("ZADD", parent .. ":unsuccessful", string.format("%.0f", now), key)
    if call("EXISTS", parent) == 0 or call("ZSCORE", prefix .. "failed", id) then return end
    call("HSET", parent, "defa", "child " .. key .. " failed")
    if parent_goes_on(prefix, id) or not call("ZSCORE", prefix .. "delayed", id) then return end
    call("HSET", parent, "delay", 0)
    enqueue_parent(prefix, id, "delayed")
  elseif link.cpof then
    call("HSET", parent .. ":failed", key, reason)
    parent_goes_on(prefix, id)
  else
    if link.idof then call("HSET", parent .. ":failed", key, reason) end
    if call("SCARD", parent .. ":dependencies") == 0 then parent_goes_on(prefix, id) end
  end
end
