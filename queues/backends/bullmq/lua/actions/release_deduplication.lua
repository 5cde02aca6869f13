-- needs: queue, where
-- Forgets a deduplication id whose holder is gone, has ended, or is in no list, and so will never give it back.
-- ARGV: the id. Back: an outcome, the holder, its state ("gone" without a hash, "unknown" in no list), and 1 where a
-- job was to follow the holder. That one stays in `dn:`: workers add it when the next job of this id has ended.
local OWN = { id = true, pc = true, limiter = true, ["stalled-check"] = true }
local OVER = { gone = true, completed = true, failed = true, unknown = true }
if is_four(base) then return { "unsupported", "", "", 0 } end
-- A queue called `de` under the prefix `<prefix>:<queue>` keeps its counters and locks where our ids are.
local name = ARGV[1]
local its = OWN[name] or string.find(name, "^mirante:") or string.find(name, "^de:") or string.find(name, ":lock$")
if its and call("TYPE", base .. "de:meta").ok == "hash" then return { "already", "", "", 0 } end
local holder = call("GET", base .. "de:" .. ARGV[1])
if not holder then return { "already", "", "", 0 } end
local state = call("EXISTS", base .. holder) == 0 and "gone" or state_of(base, holder)
if not OVER[state] then return { "wrong-state", holder, state, 0 } end
call("DEL", base .. "de:" .. ARGV[1])
return { "done", holder, state, call("EXISTS", base .. "dn:" .. ARGV[1]) }
