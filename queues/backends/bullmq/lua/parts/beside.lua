-- What goes with a job that is sent, in whichever queue it stands: what the job is a copy of, and a letter that tells
-- of it. Taken away in the very script that sends, no worker can be faster: a letter that is posted when the job fails
-- again finds its id free. Needs queue, where, parents, removing.
local REACH = 2500 -- entries from either end of a list among which it is looked for; what stands deeper is left
local ENDED = { failed = true, completed = true }

-- The list in which a letter stands, and by which end; "" where it may stand deeper, nothing where it stands in none.
local function end_of_list(prefix, id)
  local deep = false
  for _, name in ipairs({ "wait", "paused" }) do
    local list = prefix .. name
    local length = call("LLEN", list)
    took(math.min(length, REACH), PASSED)
    if length > 0 and call("LPOS", list, id, "RANK", -1, "MAXLEN", REACH) then return name, -1 end
    if length > REACH then
      took(REACH, PASSED)
      if call("LPOS", list, id, "MAXLEN", REACH) then return name, 1 end
      deep = deep or length > 2 * REACH
    end
  end
  if deep then return "" end
end

-- Where something stands, as it was seen: a place, and in lists the end by which it stands ("" as a place: it is there,
-- somewhere). Nothing where it does not, with an outcome and the state that it is in. `state`: the set in which alone
-- it is meant; "" for a letter, wherever it waits.
local function stands(prefix, id, seen, state)
  if ENDED[state] then
    local score = call("ZSCORE", prefix .. state, id)
    if score and (seen == "" or tonumber(seen) == tonumber(score)) then return state end
    if not score and not has_hash(prefix, id) then return nil, "gone", "" end
    return nil, "wrong-state", score and state or (state_among(prefix, id))
  end
  local fields = hash_of(prefix, id)
  if not fields then return nil, "gone", "" end
  for _, name in ipairs({ "prioritized", "delayed" }) do
    local score = call("ZSCORE", prefix .. name, id)
    if score and (seen == "" or seen == score or tonumber(seen) == tonumber(fields[1] or "")) then return name end
    if score then return nil, "wrong-state", name end
  end
  if seen ~= "" and tonumber(seen) ~= tonumber(fields[1] or "") then
    return nil, "wrong-state", (state_among(prefix, id))
  end
  local name, side = end_of_list(prefix, id)
  if name and name ~= "" then return name, side end
  local now = state_among(prefix, id)
  if now == "waiting" and name == "" then return "" end
  return nil, "wrong-state", now
end

-- Takes it away where it stands. True where it is away by then, false where it is left to be looked for.
local function take_away(prefix, id, place, side)
  if place == "" or kept(prefix, id, false) then return false end
  if place == "wait" or place == "paused" then
    call("LREM", prefix .. place, side, id)
  else
    call("ZREM", prefix .. place, id)
  end
  frees(prefix .. id)
  forget(prefix, id, true)
  settle()
  tell(prefix, "removed", "jobId", id, "prev", state_named(place))
  return true
end

-- Takes away a letter of this id, whichever it is.
local function take_letter(prefix, id)
  local place, side = stands(prefix, id, "", "")
  if place then return take_away(prefix, id, place, side) end
  return side == "gone"
end
