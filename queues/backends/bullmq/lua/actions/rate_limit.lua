-- needs: queue
-- How many jobs may start in a span of time. ARGV: a number and ms, or "" twice for no limit.
-- Back: "done", "already" or "unsupported".
if is_four(base) then return "unsupported" end
local had = call("HMGET", base .. "meta", "max", "duration")
if (had[1] or "") == ARGV[1] and (had[2] or "") == ARGV[2] then return "already" end
if ARGV[1] == "" then
  call("HDEL", base .. "meta", "max", "duration")
else
  call("HSET", base .. "meta", "max", ARGV[1], "duration", ARGV[2])
end
if call("EXISTS", base .. "wait", base .. "prioritized") > 0 then wake(base) end
return "done"
