-- needs: queue, lists
-- Workers may take jobs again. Right for a pause by any version, and for jobs that were left parked by none.
-- ARGV: how many ids one call may move. Back: "done", "already", "more" (call again) or "unsupported".
if is_four(base) then return "unsupported" end
if not is_paused(base) and call("EXISTS", base .. "paused") == 0 then return "already" end
if not merged(tonumber(ARGV[1])) then return "more" end
if call("EXISTS", base .. "paused") == 1 then call("RENAME", base .. "paused", base .. "wait") end
call("HDEL", base .. "meta", "paused")
if call("EXISTS", base .. "wait", base .. "prioritized") > 0 then wake(base) end
wake_for_delayed(base)
tell(base, "resumed")
return "done"
