-- A step over one collection: which of its jobs go, which are left and why.
local tally, examples = {}, {}
local done = 0

local function keep(id, why, detail)
  tally[why] = (tally[why] or 0) + 1
  if #examples < 100 then examples[#examples + 1] = { id, why, detail or "" } end
end

local function kept_counts()
  local flat = {}
  for why, count in pairs(tally) do
    flat[#flat + 1], flat[#flat + 2] = why, count
  end
  return flat
end

-- Whether a job of this age goes: it was there before `before` (ms). `all` = what tells no age goes too.
local function is_old(prefix, id, before, all)
  if not has_hash(prefix, id) then
    if not all then keep(id, "gone") end
    return all
  end
  local created = tonumber(call("HGET", prefix .. id, "timestamp") or "")
  if not created then
    if not all then keep(id, "unsupported") end
    return all
  end
  return created < before
end

-- Whether nothing keeps a job that is old enough; what does is counted.
local function may_go(prefix, id)
  local why, detail = kept(prefix, id, false)
  if why then keep(id, why, detail) end
  return not why
end
