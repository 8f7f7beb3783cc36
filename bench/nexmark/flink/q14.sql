CREATE TABLE q14 (auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), bid_time_type STRING, date_time BIGINT, extra STRING, c_counts BIGINT) WITH ($rows);
INSERT INTO q14
  SELECT auction, bidder, 0.908 * price,
    CASE
      WHEN HOUR(TO_TIMESTAMP_LTZ(date_time, 3)) BETWEEN 8 AND 18 THEN 'dayTime'
      WHEN HOUR(TO_TIMESTAMP_LTZ(date_time, 3)) <= 6 OR HOUR(TO_TIMESTAMP_LTZ(date_time, 3)) >= 20 THEN 'nightTime'
      ELSE 'otherTime'
    END,
    date_time, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', ''))
  FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
