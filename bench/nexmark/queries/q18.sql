-- Last bid: of each bidder on each auction.
CREATE TABLE q18 WITH (KEY_FORMAT = 'JSON') AS
  SELECT bidder, auction, LATEST_BY_OFFSET(price) AS price, LATEST_BY_OFFSET(channel) AS channel, LATEST_BY_OFFSET(date_time) AS date_time
  FROM bid GROUP BY bidder, auction;
