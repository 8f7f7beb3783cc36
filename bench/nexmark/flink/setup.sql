-- The topics that ksqlpy reads. Those with a watermark are for queries that use it; others do without its costs.
-- A millisecond earlier, so that a record of a window's end closes it, as in ksqlDB, and not one of the millisecond before.
CREATE TABLE person (id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, state STRING, date_time BIGINT, extra STRING)
  WITH ($source, 'topic' = 'person', 'key.format' = 'raw', 'key.fields' = 'id', 'value.fields-include' = 'EXCEPT_KEY');
CREATE TABLE auction (id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, date_time BIGINT, expires BIGINT, seller BIGINT, category BIGINT, extra STRING)
  WITH ($source, 'topic' = 'auction', 'key.format' = 'raw', 'key.fields' = 'id', 'value.fields-include' = 'EXCEPT_KEY');
CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time BIGINT, extra STRING)
  WITH ($source, 'topic' = 'bid');
CREATE TABLE timed_person (ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) LIKE person;
CREATE TABLE timed_auction (ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) LIKE auction;
CREATE TABLE timed_bid (ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) LIKE bid;
CREATE TABLE side (k BIGINT, v STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)
  WITH ('connector' = 'upsert-kafka', $broker, 'topic' = 'side', 'key.format' = 'raw', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY');
