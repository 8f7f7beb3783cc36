-- As ../queries/q11.sql, with the result of each session once.
CREATE TABLE q11 AS
  SELECT bidder, COUNT(*) AS bids FROM bid WINDOW SESSION (10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY bidder EMIT FINAL;
