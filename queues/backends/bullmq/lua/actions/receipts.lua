-- needs: queue, receipt, sent
-- What receipts say; reads only. ARGV: their tokens. Back: for each the plan's token, the id it made, and when (ms of
-- the server), or nothing.
local results = {}
for at, receipt in ipairs(receipts_of(ARGV)) do
  local said = receipt and read_sent(receipt)
  results[at] = said and { said[1], said[2], said[3] }
end
return results
