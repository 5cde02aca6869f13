-- needs: queue
-- How many bytes copies of jobs would take; reads only. ARGV: their ids. Back: for each the fields of its hash and the
-- lines of its log together; false where there is no such job, or it has more fields than any job has.
local MOST_FIELDS = 500
local sizes = {}
for number, id in ipairs(ARGV) do
  local key = base .. id
  sizes[number] = false
  if call("TYPE", key).ok == "hash" and call("HLEN", key) <= MOST_FIELDS then
    local total = 0
    for _, name in ipairs(call("HKEYS", key)) do total = total + #name + call("HSTRLEN", key, name) end
    local logs = redis.pcall("MEMORY", "USAGE", key .. ":logs", "SAMPLES", 0)
    if type(logs) == "number" then
      total = total + logs
    elseif logs then
      for _, line in ipairs(call("LRANGE", key .. ":logs", 0, -1)) do total = total + #line end
    end
    sizes[number] = total
  end
end
return sizes
