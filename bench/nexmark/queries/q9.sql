-- Winning bids: the highest bid on an auction while it was open, the first of equal ones.
CREATE TABLE q9 AS
  SELECT a.id AS id, TOPK(b.price, b.bidder, 1)[1] AS best
  FROM bid b JOIN auctions a ON b.auction = a.id
  WHERE b.date_time >= a.date_time AND b.date_time <= a.expires
  GROUP BY a.id;
