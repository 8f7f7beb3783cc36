CREATE TABLE q13 (k BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, v STRING) WITH ($rows, 'key.format' = 'raw', 'key.fields' = 'k', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO q13
  SELECT s.k, b.auction, b.bidder, b.price, b.date_time, s.v
  FROM timed_bid b JOIN side FOR SYSTEM_TIME AS OF b.ts AS s ON MOD(b.auction, 1000) = s.k;
