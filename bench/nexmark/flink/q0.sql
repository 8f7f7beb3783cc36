CREATE TABLE q0 (auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, extra STRING) WITH ($rows);
INSERT INTO q0 SELECT auction, bidder, price, date_time, extra FROM bid;
