-- Whether a job's hash is such that a worker would choke on it, or work on what it was not meant to.
local CHECKED = 1048576 -- bytes: what is longer is not parsed, since that would hold the server for too long

-- As JSON.parse, which knows no NaN and no Infinity. The shared cjson takes these, and its settings are BullMQ's too.
local strict = cjson.new()
strict.decode_invalid_numbers(false)

-- cjson refuses what JSON.parse takes: 1,000 levels, and halves of characters (\ud800).
local function is_json(text)
  local ok, problem = pcall(strict.decode, text)
  if not ok and string.find(text, "\\u", 1, true) then
    local whole = string.gsub(text, "\\u[dD][89a-fA-F]%x%x", "\\u0041")
    ok, problem = pcall(strict.decode, whole)
  end
  return ok or string.find(problem, "nested", 1, true) ~= nil
end

-- A field as it is, or nothing worth looking at where it is too long.
local function short(key, field)
  if call("HSTRLEN", key, field) > CHECKED then return "{}" end
  return call("HGET", key, field)
end

-- The name of the field that is damaged, or nothing.
local function damage_of(key)
  local data, opts, progress = short(key, "data"), short(key, "opts"), short(key, "progress")
  if not data or not is_json(data) then return "data" end
  if opts and not (string.find(opts, "^%s*{") and is_json(opts)) then return "opts" end
  if progress and progress ~= "" and not is_json(progress) then return "progress" end
  if not tonumber(call("HGET", key, "timestamp") or "") then return "timestamp" end
end
