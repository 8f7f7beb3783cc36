-- Selection: bids on some auctions.
CREATE STREAM q2 AS SELECT auction, price FROM bid WHERE auction % 123 = 0;
