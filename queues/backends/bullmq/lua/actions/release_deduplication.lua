-- needs: queue, where, deduplicated
-- Forgets a deduplication id whose holder is gone, has ended, or is in no list, and so will never give it back.
-- ARGV: the id. Back: an outcome, the holder, its state, and 1 where a job that waited for the holder went with it.
if is_four(base) then return { "unsupported", "", "", 0 } end
local holder, state = holder_of(ARGV[1])
if not holder then return { "already", "", "", 0 } end
if state ~= "gone" and state ~= "completed" and state ~= "failed" and state ~= "unknown" then
  return { "wrong-state", holder, state, 0 }
end
call("DEL", base .. "de:" .. ARGV[1])
return { "done", holder, state, call("DEL", base .. "dn:" .. ARGV[1]) }
