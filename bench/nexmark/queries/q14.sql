-- Calculation: time of day, a count of letters, and a filter over a computed price.
CREATE STREAM q14 AS
  SELECT auction, bidder, 0.908 * price AS price,
    CASE
      WHEN CAST(FORMAT_TIMESTAMP(date_time, 'HH') AS INT) BETWEEN 8 AND 18 THEN 'dayTime'
      WHEN CAST(FORMAT_TIMESTAMP(date_time, 'HH') AS INT) <= 6 OR CAST(FORMAT_TIMESTAMP(date_time, 'HH') AS INT) >= 20 THEN 'nightTime'
      ELSE 'otherTime'
    END AS bid_time_type,
    date_time, extra, LEN(extra) - LEN(REPLACE(extra, 'c', '')) AS c_counts
  FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
