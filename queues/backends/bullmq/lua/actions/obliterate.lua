-- needs: queue, where, parents, removing
-- A step of removing a paused queue. ARGV: "1" to go on although jobs are active, how many jobs to take. Stateless:
-- each step takes what is there, the queue's own keys last, so what was begun stays paused and goes on at any time.
-- Back: how many jobs went, and "more" or "ended"; or nothing gone, and why not: "open" (not paused) or "active".
if major_of(base) == 4 then return "unsupported" end
local force, size = ARGV[1] == "1", tonumber(ARGV[2])
local OWN = { "events", "id", "pc", "marker", "meta", "limiter", "stalled", "stalled-check", "delay", "priority",
  "metrics:completed", "metrics:completed:data", "metrics:failed", "metrics:failed:data" }

-- Everything of one job, who ever holds it; parents in this queue go as well, those in others are told.
local function erase(id)
  local fields = hash_of(base, id)
  if not fields then return end
  local parent, deduplication = fields[2], fields[3]
  frees(base .. id)
  forget(base, id, parent and string.sub(parent, 1, #base) ~= base, fields)
  unlinked[#unlinked + 1] = base .. id .. ":lock"
  if deduplication then
    unlinked[#unlinked + 1] = base .. "de:" .. deduplication
    unlinked[#unlinked + 1] = base .. "dn:" .. deduplication
  end
end

-- Both give how many jobs went.
local function take_list(name)
  local ids, number = call("LRANGE", base .. name, -size, -1), 0
  while number < #ids and not is_enough() do
    erase(ids[#ids - number])
    number = number + 1
  end
  if number > 0 then call("LTRIM", base .. name, 0, -number - 1) end
  return number
end

local function take_set(name)
  local ids, number = call("ZRANGE", base .. name, 0, size - 1), 0
  while number < #ids and not is_enough() do
    number = number + 1
    erase(ids[number])
  end
  for first = 1, number, 5000 do call("ZREM", base .. name, unpack(ids, first, math.min(first + 4999, number))) end
  return number
end

-- The next run of a scheduler goes by its name too, wherever it stands.
local function take_schedulers()
  local found = call("ZRANGE", base .. "repeat", 0, size - 1, "WITHSCORES")
  for i = 1, #found, 2 do
    erase("repeat:" .. found[i] .. ":" .. found[i + 1])
    unlinked[#unlinked + 1] = base .. "repeat:" .. found[i]
    call("ZREM", base .. "repeat", found[i])
  end
  return #found / 2
end

local function step()
  for _, name in ipairs({ "active", "wait", "paused", unpack(SETS) }) do
    local of_list = name == "active" or name == "wait" or name == "paused"
    local went = (of_list and take_list or take_set)(name)
    settle()
    if went > 0 then return went, "more" end
  end
  if take_schedulers() > 0 then
    settle()
    return 0, "more"
  end
  for _, name in ipairs(OWN) do unlinked[#unlinked + 1] = base .. name end
  settle()
  return 0, "ended"
end

if call("EXISTS", base .. "meta") == 0 then
  local others = 0
  for _, name in ipairs({ "active", "wait", "paused", "repeat", "events", unpack(SETS) }) do
    others = others + call("EXISTS", base .. name)
  end
  if others == 0 then return { 0, "ended" } end
end
if not is_paused(base) then return { 0, "open" } end
if not force and call("LLEN", base .. "active") > 0 then return { 0, "active" } end
return { step() }
