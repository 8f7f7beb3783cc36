CREATE TABLE q10 (auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, extra STRING, dt STRING, hm STRING) WITH ($rows);
INSERT INTO q10
  SELECT auction, bidder, price, date_time, extra,
    DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'yyyy-MM-dd'), DATE_FORMAT(TO_TIMESTAMP_LTZ(date_time, 3), 'HH:mm')
  FROM bid;
