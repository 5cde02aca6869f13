-- needs: queue, receipt, sent
-- Receipts that nobody needs any more. ARGV: their tokens.
forget_receipts(1, #ARGV)
return 1
