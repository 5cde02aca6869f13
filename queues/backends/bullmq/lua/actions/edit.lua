-- needs: queue, job
-- Other data for a job, where its data is what it was when somebody began to edit it; nothing else is touched.
-- BullMQ tells nobody either. ARGV: the job's id, what the data was, what it shall be. Back: an outcome and a detail.
local id, was, data = ARGV[1], ARGV[2], ARGV[3]
local key = base .. id
if is_four(base) then return { "unsupported", "" } end
local now = is_job(key, id) and call("HGET", key, "data")
if not now then return { "gone", "" } end
if now == data then return { "already", "" } end
local locked = locked_for(key)
if locked then return { "locked", locked } end
if call("LPOS", base .. "active", id) then return { "wrong-state", "active" } end
if now ~= was then return { "changed", "" } end
call("HSET", key, "data", data)
return { "done", "" }
