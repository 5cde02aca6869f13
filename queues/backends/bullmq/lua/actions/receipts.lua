-- needs: queue, receipt, sent
-- What receipts say; reads only. ARGV: their tokens. Back: for each the plan's token and the id it made, or nothing.
local results = {}
for at, receipt in ipairs(receipts_of(ARGV)) do
  local said = receipt and read_sent(receipt)
  results[at] = said and { said[1], said[2] }
end
return results
