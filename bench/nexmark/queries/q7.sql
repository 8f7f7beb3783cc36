-- Highest bid: of each ten seconds.
CREATE TABLE q7 AS
  SELECT 'all' AS all_, TOPK(price, auction, bidder, 1)[1] AS best
  FROM bid WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY 'all';
