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

-- Why one of these jobs may not go: outcome, detail, its key. Fills in where each stands.
local function any_kept(nodes)
  for _, node in ipairs(nodes) do
    local why, detail = kept(node.prefix, node.id, true)
    if why then return why, detail, node.key end
  end
  for _, node in ipairs(nodes) do
    node.place, node.index = place_of(node.prefix, node.id)
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
