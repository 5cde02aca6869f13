-- A step over one collection: which of its jobs go, which are left and why.
local tally, examples = {}, {}

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

-- Whether a job of this age goes: it was made before `before` (ms). `all` = what tells no age goes too.
local function is_old(id, fields, before, all)
  local made = fields and tonumber(fields[1] or "")
  if made then return made < before end
  if not all then keep(id, fields and "unsupported" or "gone") end
  return all
end

-- Whether nothing keeps a job that is old enough; what does is counted.
local function may_go(prefix, id)
  local why, detail = kept(prefix, id, false)
  if why then
    keep(id, why, detail)
    return false
  end
  frees(prefix .. id)
  return true
end
