-- needs: queue
-- What stands in the way of acting on this queue; reads only.
-- Back: 1 where 4.x works here, the version, then name and type of each key that is not as BullMQ makes it.
local TYPES = {
  meta = "hash", wait = "list", paused = "list", active = "list", prioritized = "zset", delayed = "zset",
  completed = "zset", failed = "zset", ["waiting-children"] = "zset", marker = "zset", events = "stream",
}
local strange = {}
for name, meant in pairs(TYPES) do
  local found = call("TYPE", base .. name).ok
  if found ~= "none" and found ~= meant then strange[#strange + 1] = name; strange[#strange + 1] = found end
end
if #strange > 0 then return { 0, "", unpack(strange) } end
return { is_four(base) and 1 or 0, call("HGET", base .. "meta", "version") or "" }
