-- Depths of many queues. For each queue nine keys, in this order:
--   wait, paused, active, prioritized, delayed, waiting-children, completed, failed, meta
-- For each queue back, in one flat row: 1 if any key exists, then how many jobs are waiting (both lists),
-- prioritized, active, delayed, waiting-children, completed, failed (false where a key has another type), how
-- many of those waiting are in the paused list, and paused, version, concurrency, max, duration of meta as an
-- array or false. Where something waits five ids follow: tail and head of wait, tail and head of paused, first
-- of prioritized. What 4.x puts into lists to wake its workers ("0:<ms>" at an end) is not counted.
local run = redis.pcall

local function is_marker(id)
  return type(id) == "string" and string.sub(id, 1, 2) == "0:"
end

local function size(command, key)
  local reply = run(command, key)
  return type(reply) == "number" and reply
end

-- How many jobs a list holds, and the ids at its tail and head.
local function look(key)
  local length = size("LLEN", key)
  if not length or length == 0 then return length, false, false end
  local tail, head, jobs = run("LINDEX", key, -1), false, length
  if length > 1 then head = run("LINDEX", key, 0) end
  if is_marker(tail) then
    jobs, tail = jobs - 1, length > 1 and run("LINDEX", key, -2)
    if is_marker(tail) then tail = false end
  end
  if is_marker(head) then jobs, head = jobs - 1, false end
  return jobs, tail, head
end

local results = {}
for first = 1, #KEYS, 9 do
  local wait, wait_tail, wait_head = look(KEYS[first])
  local parked, parked_tail, parked_head = look(KEYS[first + 1])
  local active, prioritized = size("LLEN", KEYS[first + 2]), size("ZCARD", KEYS[first + 3])
  local row = {
    0, wait and parked and wait + parked, prioritized, active,
    size("ZCARD", KEYS[first + 4]), size("ZCARD", KEYS[first + 5]),
    size("ZCARD", KEYS[first + 6]), size("ZCARD", KEYS[first + 7]), parked or 0, false,
  }
  local any = wait_tail or parked_tail
  for i = 2, 8 do any = any or row[i] ~= 0 end
  if active and active > 0 and is_marker(run("LINDEX", KEYS[first + 2], 0)) then row[4] = active - 1 end

  local meta = run("HMGET", KEYS[first + 8], "paused", "version", "concurrency", "max", "duration")
  local found = meta.err ~= nil
  if not meta.err then
    for i = 1, 5 do
      if meta[i] then
        found = true
        if #meta[i] > 100 then meta[i] = string.sub(meta[i], 1, 100) end
      end
    end
    if found then row[10] = meta end
  end
  if any or found or redis.call("EXISTS", KEYS[first + 8]) == 1 then row[1] = 1 end

  if wait_tail or parked_tail or (prioritized and prioritized > 0) then
    row[11], row[12], row[13], row[14], row[15] = wait_tail, wait_head, parked_tail, parked_head, false
    if prioritized and prioritized > 0 then
      row[15] = run("ZRANGE", KEYS[first + 3], 0, 0)[1] or false
    end
  end
  results[#results + 1] = row
end
return results
