-- needs: queue
-- Drops old events, whole nodes of the stream at a time. ARGV: how many to keep, about how many to drop at most.
-- Back: how many went.
if major_of(base) == 4 then return "unsupported" end
return call("XTRIM", base .. "events", "MAXLEN", "~", ARGV[1], "LIMIT", ARGV[2])
