-- Where queues of letters stand. For each queue four keys: wait, paused, prioritized, delayed.
-- For each queue back: how many jobs lie there and a digest of lengths and ends; false where a key has another type.
-- What 4.x puts into lists to wake its workers ("0:<ms>" at an end) is not counted.
local SIZES = {"LLEN", "LLEN", "ZCARD", "ZCARD"}
local ENDS = {"LRANGE", "LRANGE", "ZRANGE", "ZRANGE"}

-- How many jobs a key holds, what stands at its ends; nil where it has another type.
local function look(key, kind)
  local length = redis.pcall(SIZES[kind], key)
  if type(length) ~= "number" then return nil end
  if length == 0 then return 0, "" end
  local head = redis.call(ENDS[kind], key, 0, 0)[1]
  local tail = length > 1 and redis.call(ENDS[kind], key, -1, -1)[1] or ""
  local jobs = length
  if string.sub(head, 1, 2) == "0:" then jobs = jobs - 1 end
  if string.sub(tail, 1, 2) == "0:" then jobs = jobs - 1 end
  return jobs, length .. " " .. #head .. " " .. head .. " " .. tail
end

local results = {}
for first = 1, #KEYS, 4 do
  local total, ends = 0, {}
  for kind = 1, 4 do
    local jobs, told = look(KEYS[first + kind - 1], kind)
    if not jobs then
      total = false
      break
    end
    total, ends[kind] = total + jobs, told
  end
  results[#results + 1] = total and {total, redis.sha1hex(table.concat(ends, "\n"))}
end
return results
