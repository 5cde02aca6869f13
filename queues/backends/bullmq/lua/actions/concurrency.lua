-- needs: queue
-- How many jobs may be active at once. ARGV: a number, or "" for no limit. Back: "done", "already" or "unsupported".
if is_four(base) then return "unsupported" end
local had = call("HGET", base .. "meta", "concurrency") or ""
if had == ARGV[1] then return "already" end
if ARGV[1] == "" then
  call("HDEL", base .. "meta", "concurrency")
else
  call("HSET", base .. "meta", "concurrency", ARGV[1])
end
if call("EXISTS", base .. "wait", base .. "prioritized") > 0 then wake(base) end
return "done"
