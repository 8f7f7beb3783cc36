-- As ../queries/q7.sql, with the result of each window once.
CREATE TABLE q7 AS
  SELECT 'all' AS all_, TOPK(price, auction, bidder, 1)[1] AS best
  FROM bid WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY 'all' EMIT FINAL;
