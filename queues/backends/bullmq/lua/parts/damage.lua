-- Whether a job's hash is such that a worker would choke on it, or work on what it was not meant to.
local CHECKED = 1048576 -- bytes: what is longer is not parsed, since that would hold the server for too long

-- cjson takes NaN, Infinity and hexadecimal numbers, which JSON.parse does not. It refuses 1,000 levels and halves of
-- characters (\ud800), which that takes.
local function is_json(text)
  local whole = string.gsub(text, "\\u[dD][89a-fA-F]%x%x", "\\u0041")
  local ok, problem = pcall(cjson.decode, whole)
  if not ok then return string.find(problem, "nested", 1, true) ~= nil end
  if not (string.find(text, "[nN][aA][nN]") or string.find(text, "[iI][nN][fF]") or string.find(text, "0[xX]")) then
    return true
  end
  local bare = string.gsub(string.gsub(text, "\\.", ""), '"[^"]*"', "")
  return not (string.find(bare, "[nN][aA][nN]") or string.find(bare, "[iI][nN][fF]") or string.find(bare, "0[xX]"))
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
