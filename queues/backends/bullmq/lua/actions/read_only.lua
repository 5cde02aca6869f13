-- needs: queue
-- Whether our user may do here what our scripts do. Each command is tried where it can change nothing: on a key that is
-- not there, or on a hash that is none of its type, for rights are looked at before types.
-- Back: nothing, or the command that was refused and what the server said.
local none, other = base .. "mirante:probe", base .. "mirante:probed"
local tries = {
  { "DEL", none }, { "LPOP", none }, { "LREM", none, 0, "0" }, { "LTRIM", none, 0, -1 }, { "ZREM", none, "0" },
  { "SREM", none, "0" }, { "HDEL", none, "0" }, { "PEXPIRE", none, 1 }, { "XTRIM", none, "MAXLEN", 1 },
  { "SET", none, "0", "XX" }, { "RENAME", none, other },
}
if call("TYPE", KEYS[1]).ok == "hash" then
  for _, try in ipairs({
    { "LPUSH", KEYS[1], "0" }, { "RPUSH", KEYS[1], "0" }, { "ZADD", KEYS[1], 0, "0" }, { "SADD", KEYS[1], "0" },
    { "INCR", KEYS[1] }, { "XADD", KEYS[1], "*", "0", "0" }, { "HSET", KEYS[1], "0", "0", "0" },
  }) do tries[#tries + 1] = try end
end
local REFUSALS = { "^READONLY", "^NOPERM", "^MISCONF", "^NOREPLICAS", "no permissions", "can't run this command" }
for _, try in ipairs(tries) do
  local reply = redis.pcall(unpack(try))
  local said = type(reply) == "table" and reply.err
  for _, refusal in ipairs(said and REFUSALS or {}) do
    if string.find(said, refusal) then return { try[1], said } end
  end
end
return false
