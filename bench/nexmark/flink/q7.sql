CREATE TABLE q7 (price BIGINT, auction BIGINT, bidder BIGINT) WITH ($rows);
INSERT INTO q7
  SELECT price, auction, bidder FROM (
    SELECT price, auction, bidder, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS place
    FROM TABLE(TUMBLE(TABLE timed_bid, DESCRIPTOR(ts), INTERVAL '10' SECOND)))
  WHERE place <= 1;
