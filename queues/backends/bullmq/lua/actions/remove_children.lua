-- needs: queue, where, parents, removing, hints, tree
-- Some of the children of a job that have not been worked on, each with what hangs unended below it. ARGV: the job's
-- id, where the walk over its children stands ("0" = at the beginning), about how many to look at, hints (see tree).
-- Back: where it stands now, how many jobs went, how many names of jobs that were gone already, and the key of one that
-- stays; or "look" where reads have to find jobs first, with the prefixes and ids of these.
if major_of(base) == 4 then return "unsupported" end
local id = ARGV[1]
local key = base .. id
if not has_hash(base, id) then return "gone" end
local found = call("SSCAN", key .. ":dependencies", ARGV[2], "COUNT", ARGV[3])
local went, dead, stays, trees, all = 0, 0, "", {}, {}
take_hints(4)

-- The tree of a child; nothing below a name that is no job's.
local function tree_of(child)
  if call("TYPE", child).ok ~= "hash" then return { child = child } end
  local prefix, name = split(child)
  local root = { prefix = prefix, id = name, key = child }
  local nodes = below(child, true)
  all[#all + 1] = root
  for _, node in ipairs(nodes or {}) do all[#all + 1] = node end
  return { child = child, root = root, nodes = nodes }
end

local function remove_child(tree)
  local child, root, nodes = tree.child, tree.root, tree.nodes
  if not root then
    leave(key, child)
    dead = dead + 1
    return
  end
  if not nodes or any_kept({ root }) or any_kept(nodes) or root.place == "failed" or root.place == "completed" then
    stays = child
    return
  end
  local going = { root }
  for _, node in ipairs(nodes) do
    if node.place ~= "failed" and node.place ~= "completed" then going[#going + 1] = node end
  end
  remove_nodes(going)
  leave(key, child)
  went = went + #going
end

for _, child in ipairs(found[2]) do trees[#trees + 1] = tree_of(child) end
find_all(all)
if #sought > 0 then return { "look", sought } end
for _, tree in ipairs(trees) do remove_child(tree) end
settle()
return { found[1], went, dead, stays }
