-- Where many jobs of a queue are, each collection asked once for all of them. Needs queue, where.
local READ = 10000 -- entries of a list that is read; of a longer one the jobs' hashes tell, as with `state_among`

-- The scores of these ids in a set, false where one is not in it.
local function scores_of(name, ids)
  local scores = redis.pcall("ZMSCORE", base .. name, unpack(ids))
  if not scores.err then return scores end
  for at, id in ipairs(ids) do scores[at] = call("ZSCORE", base .. name, id) end -- before Redis 6.2
  return scores
end

-- The entries of a list; nothing where they are too many.
local function entries_of(name)
  if call("LLEN", base .. name) > READ then return nil end
  local entries, known = call("LRANGE", base .. name, 0, -1), {}
  took(#entries, PASSED / 10)
  for _, id in ipairs(entries) do known[id] = true end
  return known
end

-- A function that gives the state of one of these ids by its number, and its score in a sorted set.
local function finder(ids)
  local sets, lists, unsure = {}, {}, false
  for _, name in ipairs(SETS) do sets[name] = scores_of(name, ids) end
  for name, state in pairs({ active = "active", wait = "waiting", paused = "waiting" }) do
    lists[state] = lists[state] or {}
    local entries = entries_of(name)
    if entries then table.insert(lists[state], entries) else unsure = true end
  end
  return function(at)
    local id = ids[at]
    for _, name in ipairs(SETS) do
      if sets[name][at] then return name, sets[name][at] end
    end
    for state, each in pairs(lists) do
      for _, entries in ipairs(each) do
        if entries[id] then return state end
      end
    end
    return unsure and state_by_hash(base, id) or "unknown"
  end
end
