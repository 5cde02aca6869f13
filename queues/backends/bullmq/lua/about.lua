-- What the page of one queue shows besides counts. KEYS: events, limiter, id, repeat, delayed, marker, wait, meta.
-- ARGV: our time in ms. Of the stream only ids leave: an entry may hold megabytes.
local now = tonumber(ARGV[1])

local function entry(command, from, to)
  local found = redis.pcall(command, KEYS[1], from, to, "COUNT", 1)
  return not found.err and found[1] and found[1][1] or false
end

local function short(reply)
  return type(reply) == "string" and string.sub(reply, 1, 40) or false
end

local function number(reply)
  return type(reply) == "number" and reply or 0
end

local due = string.format("%.0f", (now + 1) * 4096)
local next_delayed = redis.pcall("ZRANGE", KEYS[5], 0, 0, "WITHSCORES")
local wait_end = short(redis.pcall("LINDEX", KEYS[7], -1))
return {
  number(redis.pcall("XLEN", KEYS[1])), entry("XRANGE", "-", "+"), entry("XREVRANGE", "+", "-"),
  number(redis.pcall("PTTL", KEYS[2])), short(redis.pcall("GET", KEYS[2])), short(redis.pcall("GET", KEYS[3])),
  number(redis.pcall("ZCARD", KEYS[4])),
  not next_delayed.err and next_delayed[2] or false,
  number(redis.pcall("ZCOUNT", KEYS[5], "-inf", "(" .. due)),
  redis.call("EXISTS", KEYS[6]),
  wait_end and string.sub(wait_end, 1, 2) == "0:" and 1 or 0,
  short(redis.pcall("HGET", KEYS[8], "max")),
}
