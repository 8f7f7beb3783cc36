CREATE TABLE q1 (auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), date_time BIGINT, extra STRING) WITH ($rows);
INSERT INTO q1 SELECT auction, bidder, 0.908 * price, date_time, extra FROM bid;
