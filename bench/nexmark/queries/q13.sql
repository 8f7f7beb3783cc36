-- Side input: bids with a text of a small table.
CREATE STREAM q13 AS
  SELECT s.k AS k, b.auction AS auction, b.bidder AS bidder, b.price AS price, b.date_time AS date_time, s.v AS v
  FROM bid b JOIN side s ON b.auction % 1000 = s.k;
