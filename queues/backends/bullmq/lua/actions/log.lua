-- needs: queue, receipt, job
-- One more line in a job's log, of which the oldest go where its options say how many to keep.
-- ARGV: a token, the job's id, the line. Back: an outcome and nothing.
local token, id, line = ARGV[1], ARGV[2], ARGV[3]
local key = base .. id
if is_four(base) then return { "unsupported", "" } end
if receipt_of(token) then return { "already", "" } end
if not is_job(key, id) then return { "gone", "" } end
local readable, opts = pcall(cjson.decode, call("HGET", key, "opts") or "")
local keep = readable and type(opts) == "table" and tonumber(opts.kl) or 0
call("RPUSH", key .. ":logs", line)
if keep >= 1 then call("LTRIM", key .. ":logs", string.format("%.0f", -math.floor(keep)), -1) end
leave_receipt(token, id)
return { "done", "" }
