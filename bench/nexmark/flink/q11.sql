CREATE TABLE q11 (bidder BIGINT, bids BIGINT) WITH ($rows, 'key.format' = 'raw', 'key.fields' = 'bidder', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO q11
  SELECT bidder, COUNT(*) FROM TABLE(SESSION(TABLE timed_bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY bidder, window_start, window_end;
