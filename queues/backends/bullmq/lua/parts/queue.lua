-- What every script that writes needs: one queue's keys, where its jobs wait, its markers, its events.
-- KEYS[1] is the queue's meta key; all other keys of the queue follow from it (BullMQ does the same), so they share
-- its slot. Right for 4.x, 5.x and 6.x, for no version and for several at once, paused or not.
local call = redis.call
local base = string.sub(KEYS[1], 1, -5)
local MAX_EVENTS = 10000 -- BullMQ 4 to 6: scripts/includes/getOrSetMaxEvents

-- What a script has learnt of queues. One that acts on many jobs, and neither pauses nor opens a queue nor makes a list
-- empty, begins with `memo = {}`: it then asks once and not for each job. Nobody else changes anything meanwhile.
local memo = nil

local function once(what, prefix, ask)
  if not memo then return ask(prefix) end
  local at = what .. prefix
  if memo[at] == nil then memo[at] = ask(prefix) or false end
  return memo[at]
end

-- How long a script may have held the server, in millionths of a second: guessed from what can take long, since a clock
-- stands still within a script. One that acts on many jobs asks `is_enough` before each but the first, and answers for
-- those that it came to; whoever sent it sends the others again.
local ENOUGH, effort = 8000, 0
local PARSED, PASSED, FREED = 100, 100, 15000 -- in a millionth of a second: bytes of JSON, entries, bytes of memory

local function took(amount, speed)
  effort = effort + amount / speed
end

local function is_enough()
  return effort >= ENOUGH
end

local function is_marker(id)
  return string.sub(id, 1, 2) == "0:"
end

-- The major of the library that last said so in meta; nil where nobody did (Python never does).
local function major_of(prefix)
  local version = call("HGET", prefix .. "meta", "version")
  return version and tonumber(string.match(version, "^bullmq[^:]*:(%d+)")) or nil
end

-- Whether a list holds a job. Markers stand at its ends: at most one at each.
local function has_jobs(list)
  local length = call("LLEN", list)
  if length == 0 or length > 2 then return length > 2 end
  for _, entry in ipairs(call("LRANGE", list, 0, 1)) do
    if not is_marker(entry) then return true end
  end
  return false
end

-- Whether 4.x works here: it says so, or nobody says anything and its markers stand in the list.
local function is_four(prefix)
  local major = major_of(prefix)
  if major then return major == 4 end
  for _, list in ipairs({ "wait", "paused" }) do
    for _, at in ipairs({ 0, -1 }) do
      local entry = call("LINDEX", prefix .. list, at)
      if entry and is_marker(entry) then return true end
    end
  end
  return false
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
local function ask_waiting_list(prefix)
  if not is_paused(prefix) then return prefix .. "wait" end
  if call("EXISTS", prefix .. "paused") == 1 then return prefix .. "paused" end
  if has_jobs(prefix .. "wait") or (major_of(prefix) or 5) >= 6 then return prefix .. "wait" end
  return prefix .. "paused"
end

local function waiting_list(prefix)
  return once("list", prefix, ask_waiting_list)
end

local function most_events(prefix)
  return string.format("%.0f", tonumber(call("HGET", prefix .. "meta", "opts.maxLenEvents") or "") or MAX_EVENTS)
end

-- What cannot be told (no stream, no room in it) does not undo what was done.
local function tell(prefix, ...)
  redis.pcall("XADD", prefix .. "events", "MAXLEN", "~", once("events", prefix, most_events), "*", "event", ...)
end

local function mark(prefix)
  call("ZADD", prefix .. "marker", 0, "0")
  return true
end

-- Wakes an idle worker: 5.x and 6.x wait for the marker, 4.x for an entry of the list, where its own markers begin
-- with `0:`. On a held queue there is nobody to wake: whoever opens it does that.
local function wake(prefix)
  if once("held", prefix, is_held) then return end
  if once("four", prefix, is_four) then
    if call("LLEN", prefix .. "wait") == 0 then call("LPUSH", prefix .. "wait", "0:0") end
  else
    once("marked", prefix, mark)
  end
end

-- A marker of 4.x is needless beside a job, and would stand before it; its moment may be one long after this.
local function drop_marker(prefix)
  local list = waiting_list(prefix)
  local head = call("LINDEX", list, 0)
  if head and is_marker(head) then call("LPOP", list) end
  return true
end

-- Where 4.x works, `wake` may have put one there for the last job.
local function clear_marker(prefix)
  if memo and not once("four", prefix, is_four) then once("dropped", prefix, drop_marker) else drop_marker(prefix) end
end

-- Puts a job where it waits: by its priority among the prioritized, else into the list; `first` = it is taken next,
-- or next of its priority. Call it before the job leaves where it was: so a key of a wrong type loses nothing.
-- `priority` is the job's field, where it has been read.
local function enqueue(prefix, id, first, priority)
  priority = tonumber(priority or call("HGET", prefix .. id, "priority") or "") or 0
  local list = waiting_list(prefix)
  clear_marker(prefix)
  if priority > 0 then
    local counter = first and 0 or call("INCR", prefix .. "pc")
    call("ZADD", prefix .. "prioritized", string.format("%.0f", priority * 4294967296 + counter % 4294967296), id)
  else
    call(first and "RPUSH" or "LPUSH", list, id)
  end
  wake(prefix)
end

-- The same for several without a priority: the first of them is taken first.
local function enqueue_all(prefix, ids)
  local list = waiting_list(prefix)
  clear_marker(prefix)
  call("LPUSH", list, unpack(ids))
  wake(prefix)
end

-- Whether a job is the next run of a scheduler: removing or moving it would end the chain. A scheduler's score is its
-- next moment, with which the job's id ends. Repeatables of 4.x have another name in the id than in `repeat`.
-- `prefix` is that of the job's queue where it is not ours.
local function is_next_run(id, prefix)
  if string.sub(id, 1, 7) ~= "repeat:" then return false end
  prefix = prefix or base
  local scheduler = call("HGET", prefix .. id, "rjk")
  local at = scheduler and call("ZSCORE", prefix .. "repeat", scheduler)
  return at and string.sub(id, -#at - 1) == ":" .. at or false
end

-- Lets idle workers know of the moment for which they have to wait next (5.x and 6.x).
local function wake_for_delayed(prefix)
  local next = call("ZRANGE", prefix .. "delayed", 0, 0, "WITHSCORES")
  if next[2] then call("ZADD", prefix .. "marker", tonumber(next[2]) / 4096, "1") end
end

-- The score of a job that is due at a moment: after those that are due in the same ms (4,096 fit).
local function delayed_score(prefix, at)
  local low, high = at * 4096, (at + 1) * 4096 - 1
  local last = call("ZREVRANGEBYSCORE", prefix .. "delayed", string.format("%.0f", high), string.format("%.0f", low),
    "WITHSCORES", "LIMIT", 0, 1)
  return string.format("%.0f", last[2] and math.min(tonumber(last[2]) + 1, high) or low)
end

-- Milliseconds by the server's clock.
local function now_ms()
  local time = call("TIME")
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Milliseconds for which a worker still holds a job; 0 for ever; nil when none does.
local function locked_for(key)
  local ttl = call("PTTL", key .. ":lock")
  if ttl == -2 then return nil end
  return math.max(ttl, 0)
end
