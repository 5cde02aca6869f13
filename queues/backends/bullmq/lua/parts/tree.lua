-- What hangs below a job in a flow, in whichever queues.
local MOST_BELOW = 1000

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
-- all of them: about 0.2 s for a million entries.
local QUICK = 200000 -- entries, some 4 ms

local function find_in_list(list, name, nodes)
  local length = call("LLEN", list)
  local missing, number = {}, 0
  for _, node in ipairs(nodes) do
    if not node.place and node.prefix .. name == list then
      missing[node.id], number = node, number + 1
    end
  end
  local at = number * length <= QUICK and length or 0
  if at == length then
    for id, node in pairs(missing) do
      local index = call("LPOS", list, id)
      if index then node.place, node.index = name, index end
    end
  end
  while at < length and number > 0 do
    for offset, id in ipairs(call("LRANGE", list, at, at + 4999)) do
      local node = missing[id]
      if node and not node.place then node.place, node.index, number = name, at + offset - 1, number - 1 end
    end
    at = at + 5000
  end
end

local function find_all(nodes)
  local prefixes = {}
  for _, node in ipairs(nodes) do
    for _, name in ipairs(SETS) do
      if not node.place and call("ZSCORE", node.prefix .. name, node.id) then node.place = name end
    end
    if not node.place then prefixes[node.prefix] = true end
  end
  for prefix in pairs(prefixes) do
    for _, name in ipairs({ "active", "wait", "paused" }) do find_in_list(prefix .. name, name, nodes) end
  end
end

-- Why one of these jobs may not go: outcome, detail, its key. Fills in where each stands.
local function any_kept(nodes)
  for _, node in ipairs(nodes) do
    local why, detail = kept(node.prefix, node.id, true)
    if why then return why, detail, node.key end
  end
  find_all(nodes)
  for _, node in ipairs(nodes) do
    node.place = node.place or "unknown"
    if node.place == "active" then return "wrong-state", "active", node.key end
  end
end

local function remove_nodes(nodes)
  for _, node in ipairs(nodes) do
    take_from(node.prefix, node.place, node.id, node.index)
    forget(node.prefix, node.id, false)
    tell(node.prefix, "removed", "jobId", node.id, "prev", node.place)
  end
end
