-- needs: queue, holding
-- What stands in the way of new jobs; reads only. ARGV: for each its id and its deduplication id ("" = none).
-- Back: for each "", "id", or "twin" and the id of that.
local results, LOOKED = {}, 0.3 -- jobs in a millionth of a second
for i = 1, #ARGV, 2 do
  if is_enough() then break end
  took(1, LOOKED)
  local id, deduplication = ARGV[i], ARGV[i + 1]
  local holder = deduplication ~= "" and other_holder("", deduplication)
  local taken = id ~= "" and call("EXISTS", base .. id) == 1
  results[#results + 1] = taken and { "id", id } or holder and { "twin", holder } or { "", "" }
end
return results
