-- needs: queue
-- A queue that has reached its rate limit begins a new span now. Back: "done", "already" or "unsupported".
if is_four(base) then return "unsupported" end
if call("DEL", base .. "limiter") == 0 then return "already" end
if call("EXISTS", base .. "wait", base .. "prioritized") > 0 then wake(base) end
return "done"
