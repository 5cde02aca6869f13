-- needs: queue, where, deduplicated
-- ARGV: a deduplication id. Back: nothing, or its holder, where that is, the id's ms to live, and 1 where a
-- further job waits for the holder to end.
local holder, state = holder_of(ARGV[1])
if not holder then return false end
return { holder, state, call("PTTL", base .. "de:" .. ARGV[1]), call("EXISTS", base .. "dn:" .. ARGV[1]) }
