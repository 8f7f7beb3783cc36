CREATE TABLE q17 (auction BIGINT, bid_day STRING,
    total_bids BIGINT, rank1_bids BIGINT, rank2_bids BIGINT, rank3_bids BIGINT,
    min_price BIGINT, max_price BIGINT, avg_price DOUBLE, sum_price BIGINT,
    PRIMARY KEY (auction, bid_day) NOT ENFORCED) WITH ($changes, 'key.format' = 'json');
INSERT INTO q17
  SELECT auction, DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'yyyy-MM-dd'),
    COUNT(*),
    COUNT(*) FILTER (WHERE price < 10000),
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000),
    COUNT(*) FILTER (WHERE price >= 1000000),
    MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), SUM(price)
  FROM bid GROUP BY auction, DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'yyyy-MM-dd');
