-- In which of a queue's collections one job is. KEYS: five sorted sets, three lists, the job's hash.
-- ARGV: id, how many entries of a list to look at from each end. Back: the hash's type, for each
-- sorted set the score or false, for each list 1 (there), 0 (not there) or -1 (too long to know).
local id, bound = ARGV[1], tonumber(ARGV[2])
local scores, lists = {}, {}
for i = 1, 5 do
  local score = redis.pcall("ZSCORE", KEYS[i], id)
  scores[i] = type(score) == "string" and score or false
end
for i = 6, 8 do
  local length = redis.pcall("LLEN", KEYS[i])
  local answer = 0
  if type(length) == "number" and length > 0 then
    local at = redis.pcall("LPOS", KEYS[i], id, "MAXLEN", bound)
    if not at and length > bound then at = redis.pcall("LPOS", KEYS[i], id, "RANK", -1, "MAXLEN", bound) end
    if type(at) == "number" then
      answer = 1
    elseif at or length > 2 * bound then
      answer = -1
    end
  end
  lists[#lists + 1] = answer
end
return {redis.call("TYPE", KEYS[9]).ok, scores, lists}
