-- Auction statistics: of each day and auction.
CREATE TABLE q17 WITH (KEY_FORMAT = 'JSON') AS
  SELECT auction, FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd') AS bid_day, COUNT(*) AS total_bids,
    SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1_bids,
    SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2_bids,
    SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3_bids,
    MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
  FROM bid GROUP BY auction, FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd');
