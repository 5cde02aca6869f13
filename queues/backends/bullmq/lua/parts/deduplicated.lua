-- Which job holds a deduplication id, and where that job is: "gone" without a hash, "unknown" in no list.
local function holder_of(id)
  local holder = call("GET", base .. "de:" .. id)
  if not holder then return nil end
  if call("EXISTS", base .. holder) == 0 then return holder, "gone" end
  return holder, (state_of(base, holder))
end
