-- needs: queue, where, parents, removing, tree
-- What hangs below a job; reads only. ARGV: its id. Back: false where that is too much, else for each the beginning of
-- its queue's keys, its id, whether it has ended, for how many ms a worker holds it (-1 = none does), and of the first
-- ones the state ("" = not looked at).
local STATES = 40
local nodes = below(base .. ARGV[1], false)
if not nodes then return false end
local rows = {}
for number, node in ipairs(nodes) do
  local state = number <= STATES and (state_among(node.prefix, node.id)) or ""
  rows[number] = { node.prefix, node.id, node.ended and 1 or 0, locked_for(node.key) or -1, state }
end
return rows
