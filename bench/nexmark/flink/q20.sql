CREATE TABLE q20 (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, date_time BIGINT, item_name STRING, initial_bid BIGINT, reserve BIGINT, seller BIGINT, category BIGINT)
  WITH ($rows, 'key.format' = 'raw', 'key.fields' = 'auction', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO q20
  SELECT b.auction, b.bidder, b.price, b.channel, b.date_time, a.item_name, a.initial_bid, a.reserve, a.seller, a.category
  FROM timed_bid b JOIN timed_auction a ON b.auction = a.id AND a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts + INTERVAL '1' HOUR
  WHERE a.category = 10;
