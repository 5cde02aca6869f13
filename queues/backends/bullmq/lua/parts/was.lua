-- What a retry takes from a job, kept so that the job can be taken back. Needs queue, damage.
local WAS = {
  "failedReason", "finishedOn", "processedOn", "returnvalue", "defa", "atm", "ats", "attemptsMade", "stc",
  "stalledCounter",
}
local TRIED = 8 -- of those are taken each time, or tell whether a worker has begun it since
local KEPT, REACHED = 65536, 1048576 -- bytes: of a field that is kept; of one whose beginning is
local COPIED = 500 -- bytes in a millionth of a second

LONGEST.failedReason, LONGEST.returnvalue = KEPT, KEPT

-- The beginning of a reason that is too long to be kept, and how long it was.
local function shortened(key, length)
  local beginning = ""
  if length <= REACHED then
    took(length, COPIED)
    beginning = string.sub(call("HGET", key, "failedReason"), 1, KEPT)
  end
  return beginning .. string.format(" ... (%d bytes)", length)
end

-- Makes short what is too long to be kept, as long as it is there. `found` and `long` as from `fields_of`. Back: flags
-- for `what_was`.
local function shorten(key, found, long)
  if long and long.failedReason then found.failedReason = shortened(key, long.failedReason) end
  if not long or not long.returnvalue then return "" end
  found.returnvalue = nil
  return "v"
end

-- One string: the set and score of before, the receipt, flags, then names and values of fields. Flags: r = its attempts
-- were forgotten, h = its deduplication id was given back to it, p = its parent had been told of its end, v = what it
-- had returned was too long.
local function what_was(state, score, token, flags, found)
  local kept, last = { state, score, token, flags }, 4
  for _, name in ipairs(WAS) do
    local value = found[name]
    if value then
      kept[last + 1], kept[last + 2] = name, value
      last = last + 2
    end
  end
  local packed = cmsgpack.pack(kept)
  took(#packed, COPIED)
  return packed
end
