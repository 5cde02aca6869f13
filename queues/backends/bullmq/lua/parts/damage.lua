-- Whether a job's hash is such that a worker would choke on it, or work on what it was not meant to.
local CHECKED = 1048576 -- bytes: what is longer is not parsed, since that would hold the server for too long

-- As JSON.parse, which knows no NaN and no Infinity. The shared cjson takes these, and its settings are BullMQ's too.
local strict = cjson.new()
strict.decode_invalid_numbers(false)

-- cjson refuses what JSON.parse takes: 1,000 levels, and halves of characters (\ud800).
local function is_json(text)
  took(#text, PARSED)
  local ok, problem = pcall(strict.decode, text)
  if not ok and string.find(text, "\\u", 1, true) then
    local whole = string.gsub(text, "\\u[dD][89a-fA-F]%x%x", "\\u0041")
    ok, problem = pcall(strict.decode, whole)
  end
  return ok or string.find(problem, "nested", 1, true) ~= nil
end

-- Bytes of fields that may be long: no more is read of one. Scripts that ask for further such fields add them.
local LONGEST = { data = CHECKED, opts = CHECKED, progress = CHECKED }

-- The names to ask for: those above that are short enough, the timestamp, and further ones.
local function asked_for(further, long)
  local names = { "timestamp" }
  for name in pairs(LONGEST) do
    if not (long and long[name]) then names[#names + 1] = name end
  end
  for _, name in ipairs(further) do names[#names + 1] = name end
  return names
end

local NONE = {}
local asked = {} -- the same where all are short, by the table of further ones: mostly one for all jobs of a script

-- Some fields of a job by one call: those above, its timestamp, and further ones. Those that are too long are as if
-- they were fine and empty, and their lengths are given back too (nothing where all are short). Nothing at all where
-- the key is no hash: an id may be the name of another key of the queue.
local function fields_of(key, further)
  local long
  for name, most in pairs(LONGEST) do
    local length = redis.pcall("HSTRLEN", key, name)
    if type(length) ~= "number" then return nil end
    if length > most then
      long = long or {}
      long[name] = length
    end
  end
  asked[further] = asked[further] or asked_for(further)
  local names, found = long and asked_for(further, long) or asked[further], {}
  local values = call("HMGET", key, unpack(names))
  for i, name in ipairs(names) do found[name] = values[i] end
  for name in pairs(long or NONE) do found[name] = "{}" end
  return found, long
end

-- The name of the field that is damaged, or nothing. `found` is what `fields_of` gave, where it was asked already.
local function damage_of(key, found)
  found = found or fields_of(key, NONE)
  if not found then return "key" end
  if not found.data or not is_json(found.data) then return "data" end
  if found.opts and not (string.find(found.opts, "^%s*{") and is_json(found.opts)) then return "opts" end
  if found.progress and found.progress ~= "" and not is_json(found.progress) then return "progress" end
  if not tonumber(found.timestamp or "") then return "timestamp" end
end
