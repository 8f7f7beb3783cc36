CREATE TABLE q16 (channel STRING, bid_day STRING, bid_minute STRING,
    total_bids BIGINT, rank1_bids BIGINT, rank2_bids BIGINT, rank3_bids BIGINT,
    total_bidders BIGINT, rank1_bidders BIGINT, rank2_bidders BIGINT, rank3_bidders BIGINT,
    total_auctions BIGINT, rank1_auctions BIGINT, rank2_auctions BIGINT, rank3_auctions BIGINT,
    PRIMARY KEY (channel, bid_day) NOT ENFORCED) WITH ($changes, 'key.format' = 'json');
INSERT INTO q16
  SELECT channel, DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'yyyy-MM-dd'), MAX(DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'HH:mm')),
    COUNT(*),
    COUNT(*) FILTER (WHERE price < 10000),
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000),
    COUNT(*) FILTER (WHERE price >= 1000000),
    COUNT(DISTINCT bidder),
    COUNT(DISTINCT bidder) FILTER (WHERE price < 10000),
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000),
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000),
    COUNT(DISTINCT auction),
    COUNT(DISTINCT auction) FILTER (WHERE price < 10000),
    COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000),
    COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000)
  FROM bid GROUP BY channel, DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'yyyy-MM-dd');
