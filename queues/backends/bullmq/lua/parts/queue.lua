-- What every script that writes needs: one queue's keys, where its jobs wait, its markers, its events.
-- KEYS[1] is the queue's meta key; all other keys of the queue follow from it (BullMQ does the same), so they share
-- its slot. Right for 4.x, 5.x and 6.x, for no version and for several at once, paused or not.
local call = redis.call
local base = string.sub(KEYS[1], 1, -5)
local MAX_EVENTS = 10000 -- BullMQ 4 to 6: scripts/includes/getOrSetMaxEvents

local function is_marker(id)
  return string.sub(id, 1, 2) == "0:"
end

-- The major of the library that last said so in meta; nil where nobody did (Python never does).
local function major_of(prefix)
  local version = call("HGET", prefix .. "meta", "version")
  return version and tonumber(string.match(version, "^bullmq[^:]*:(%d+)"))
end

local function is_paused(prefix)
  return call("HEXISTS", prefix .. "meta", "paused") == 1
end

-- Whether no worker may take a further job now.
local function is_held(prefix)
  if is_paused(prefix) then return true end
  local most = tonumber(call("HGET", prefix .. "meta", "concurrency") or "")
  return most ~= nil and call("LLEN", prefix .. "active") >= most
end

-- The list in which a job waits so that no resume, by whichever version, can lose it. Not paused: `wait`. Paused:
-- 5.x has moved `wait` to `paused`, adds there, and renames it back when it resumes, over whatever stands in `wait`;
-- 6.x leaves all in `wait`. So where `paused` holds jobs it is the place (6.x merges it when it resumes); where only
-- `wait` does, nothing will be renamed over it; where neither does, the version decides, and no version means
-- `paused`, which both ways of resuming bring back.
local function waiting_list(prefix)
  if not is_paused(prefix) or call("EXISTS", prefix .. "paused") == 1 then
    return prefix .. (is_paused(prefix) and "paused" or "wait")
  end
  local head = call("LINDEX", prefix .. "wait", 0)
  if (head and not is_marker(head)) or (major_of(prefix) or 5) >= 6 then return prefix .. "wait" end
  return prefix .. "paused"
end

local function tell(prefix, ...)
  local most = call("HGET", prefix .. "meta", "opts.maxLenEvents") or MAX_EVENTS
  call("XADD", prefix .. "events", "MAXLEN", "~", most, "*", "event", ...)
end

-- Wakes an idle worker: 5.x and 6.x wait for the marker, 4.x for an entry of the list, where its own markers begin
-- with `0:`. On a held queue there is nobody to wake: whoever opens it does that.
local function wake(prefix)
  if is_held(prefix) then return end
  if major_of(prefix) == 4 then
    if call("LLEN", prefix .. "wait") == 0 then call("LPUSH", prefix .. "wait", "0:0") end
  else
    call("ZADD", prefix .. "marker", 0, "0")
  end
end

-- Puts a job where it waits: by its priority among the prioritized, else into the list; `first` = it is taken next.
local function enqueue(prefix, id, first)
  local priority = tonumber(call("HGET", prefix .. id, "priority") or "") or 0
  if priority > 0 then
    local counter = call("INCR", prefix .. "pc")
    call("ZADD", prefix .. "prioritized", string.format("%.0f", priority * 4294967296 + counter % 4294967296), id)
  else
    local list = waiting_list(prefix)
    -- A marker of 4.x is needless beside a job, and would stand before it.
    local head = call("LINDEX", list, 0)
    if head and is_marker(head) then call("LPOP", list) end
    call(first and "RPUSH" or "LPUSH", list, id)
  end
  wake(prefix)
end

-- Whether a job is the next run of a scheduler: removing or moving it would end the chain. 5.x and 6.x keep the
-- scheduler's next moment as its score; legacy repeatables name the job in the same way.
local function is_next_run(id)
  local scheduler = call("HGET", base .. id, "rjk")
  if not scheduler then return false end
  local at = call("ZSCORE", base .. "repeat", scheduler)
  return at and id == "repeat:" .. scheduler .. ":" .. at or false
end

-- Milliseconds for which a worker still holds a job; 0 for ever; nil when none does.
local function locked_for(key)
  local ttl = call("PTTL", key .. ":lock")
  if ttl == -2 then return nil end
  return math.max(ttl, 0)
end
