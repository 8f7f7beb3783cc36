-- Channel statistics: of each day and channel; COUNT_DISTINCT estimates, as in ksqlDB.
CREATE TABLE q16 WITH (KEY_FORMAT = 'JSON') AS
  SELECT channel, FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd') AS bid_day, MAX(FORMAT_TIMESTAMP(date_time, 'HH:mm')) AS bid_minute,
    COUNT(*) AS total_bids,
    SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1_bids,
    SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2_bids,
    SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3_bids,
    COUNT_DISTINCT(bidder) AS total_bidders,
    COUNT_DISTINCT(CASE WHEN price < 10000 THEN bidder END) AS rank1_bidders,
    COUNT_DISTINCT(CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS rank2_bidders,
    COUNT_DISTINCT(CASE WHEN price >= 1000000 THEN bidder END) AS rank3_bidders,
    COUNT_DISTINCT(auction) AS total_auctions,
    COUNT_DISTINCT(CASE WHEN price < 10000 THEN auction END) AS rank1_auctions,
    COUNT_DISTINCT(CASE WHEN price >= 10000 AND price < 1000000 THEN auction END) AS rank2_auctions,
    COUNT_DISTINCT(CASE WHEN price >= 1000000 THEN auction END) AS rank3_auctions
  FROM bid GROUP BY channel, FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd');
