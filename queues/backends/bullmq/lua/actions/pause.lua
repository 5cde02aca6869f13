-- needs: queue, lists
-- No worker may take a job. 6.x keeps jobs in `wait`; 5.x, and whoever does not say, moves them to `paused`.
-- ARGV: how many ids one call may move. Back: "done", "already", "more" (call again) or "unsupported".
if is_four(base) then return "unsupported" end
if is_paused(base) then return "already" end
if (major_of(base) or 5) < 6 then
  if not merged(tonumber(ARGV[1])) then return "more" end
  if call("EXISTS", base .. "wait") == 1 then call("RENAME", base .. "wait", base .. "paused") end
end
call("HSET", base .. "meta", "paused", 1)
call("DEL", base .. "marker")
tell(base, "paused")
return "done"
