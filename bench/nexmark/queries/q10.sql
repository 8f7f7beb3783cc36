-- Log: each bid with the day and the minute under which it is filed.
CREATE STREAM q10 AS
  SELECT auction, bidder, price, date_time, extra,
    FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd') AS dt, FORMAT_TIMESTAMP(date_time, 'HH:mm') AS hm
  FROM bid;
