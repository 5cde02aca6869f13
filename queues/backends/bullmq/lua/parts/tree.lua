-- What hangs below a job in a flow, in whichever queues.
local MOST_BELOW = 1000
local REMOVED = 0.05 -- jobs in a millionth of a second

local function count_below(key)
  return call("SCARD", key .. ":dependencies") + call("HLEN", key .. ":processed")
    + call("HLEN", key .. ":failed") + call("ZCARD", key .. ":unsuccessful")
end

-- Adds the children of a job to `nodes`: those that still name it as their parent. `ended` = it was told of their end.
local function add_children(nodes, known, key, unended)
  local function add(children, ended)
    for _, child in ipairs(children) do
      if not known[child] and call("TYPE", child).ok == "hash" and call("HGET", child, "parentKey") == key then
        local prefix, id = split(child)
        known[child] = true
        nodes[#nodes + 1] = { prefix = prefix, id = id, key = child, ended = ended }
      end
    end
  end
  add(call("SMEMBERS", key .. ":dependencies"), false)
  if unended then return end
  add(call("HKEYS", key .. ":processed"), true)
  add(call("HKEYS", key .. ":failed"), true)
  add(call("ZRANGE", key .. ":unsuccessful", 0, -1), true)
end

-- All below a job, parents before children; nil where there are more than 1,000. `unended` leaves out those whose
-- parent was told of their end.
local function below(key, unended)
  local nodes, known, at = {}, { [key] = true }, 0
  local next_key = key
  while next_key do
    if #nodes + count_below(next_key) > MOST_BELOW then return nil end
    add_children(nodes, known, next_key, unended)
    at = at + 1
    next_key = nodes[at] and nodes[at].key
  end
  return nodes
end

-- Where those stand that no sorted set holds. One LPOS for each while that is quick, else one look through the list for
-- all of them; in a list that is too long for that by their hints, which reads have found (`hints`, by the jobs' keys).
-- `sought` are those that reads have to look for (again): nothing may be done as long as there are any. Without
-- `hints` every list is looked through: about 0.13 s for a million entries.
local QUICK, PASSABLE = 200000, 20000 -- entries, some 2 ms each
local hints, sought = nil, {}

local function look_through(list, name, missing, number)
  local at, length = 0, call("LLEN", list)
  took(length, PASSED)
  while at < length and number > 0 do
    for offset, id in ipairs(call("LRANGE", list, at, at + 4999)) do
      local node = missing[id]
      if node and not node.place then node.place, node.index, number = name, at + offset - 1, number - 1 end
    end
    at = at + 5000
  end
end

local function find_by_hints(list, name, missing)
  local nowhere, number = {}, 0
  for id, node in pairs(missing) do
    local hint = hints[node.key]
    local found, index = hinted(node.prefix, id, hint or "")
    if found then
      node.place, node.index = found, index
    elseif hint == "-" then
      nowhere[id], number = node, number + 1
    else
      node.sought = true
    end
  end
  -- Only a job that is in no list for certain may lose its hash.
  look_through(list, name, nowhere, number)
end

local function find_in_list(list, name, nodes)
  local length, missing, number = call("LLEN", list), {}, 0
  for _, node in ipairs(nodes) do
    if not node.place and node.prefix .. name == list then
      missing[node.id], number = node, number + 1
    end
  end
  if number == 0 or length == 0 then return end
  if number * length <= QUICK then
    took(number * length, PASSED)
    for id, node in pairs(missing) do
      local index = call("LPOS", list, id)
      if index then node.place, node.index = name, index end
    end
  elseif hints and length > PASSABLE and name ~= "active" then
    find_by_hints(list, name, missing)
  else
    look_through(list, name, missing, number)
  end
end

local function find_all(nodes)
  local prefixes = {}
  for _, node in ipairs(nodes) do
    for _, name in ipairs(SETS) do
      local score = not node.place and call("ZSCORE", node.prefix .. name, node.id)
      if score then node.place, node.score = name, score end
    end
    if not node.place then prefixes[node.prefix] = true end
  end
  for prefix in pairs(prefixes) do
    for _, name in ipairs({ "active", "wait", "paused" }) do find_in_list(prefix .. name, name, nodes) end
  end
  for _, node in ipairs(nodes) do
    if not node.place and node.sought then
      sought[#sought + 1], sought[#sought + 2] = node.prefix, node.id
    end
    node.place = node.place or "unknown"
  end
end

-- `hints` from ARGV: how many there are at `from` ("-1" = look through all lists), then key and hint of each. Back:
-- where the arguments go on.
local function take_hints(from)
  local number = tonumber(ARGV[from])
  if number < 0 then return from + 1 end
  hints = {}
  for i = from + 1, from + 2 * number, 2 do hints[ARGV[i]] = ARGV[i + 1] end
  return from + 1 + 2 * number
end

-- Why one of these jobs may not go: outcome, detail, its key; "look" where reads have to find some of them first. Fills
-- in where each stands.
local function any_kept(nodes)
  for _, node in ipairs(nodes) do
    local why, detail = kept(node.prefix, node.id, true)
    if why then return why, detail, node.key end
  end
  find_all(nodes)
  if #sought > 0 then return "look", "" end
  for _, node in ipairs(nodes) do
    if node.place == "active" then return "wrong-state", "active", node.key end
  end
end

local function remove_nodes(nodes)
  took(#nodes, REMOVED)
  for _, node in ipairs(nodes) do
    take_from(node.prefix, node.place, node.id, node.index)
    forget(node.prefix, node.id, false)
    tell(node.prefix, "removed", "jobId", node.id, "prev", node.place)
  end
end
