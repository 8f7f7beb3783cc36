CREATE TABLE q18 (bidder BIGINT, auction BIGINT, price BIGINT, channel STRING, date_time BIGINT, PRIMARY KEY (bidder, auction) NOT ENFORCED) WITH ($changes, 'key.format' = 'json');
INSERT INTO q18
  SELECT bidder, auction, price, channel, date_time FROM (
    SELECT bidder, auction, price, channel, date_time, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) AS place
    FROM timed_bid)
  WHERE place <= 1;
