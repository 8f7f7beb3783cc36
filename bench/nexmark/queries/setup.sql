-- People, auctions and bids. The keys are those that a producer of a table gives; bids have none.
CREATE STREAM person (id BIGINT KEY, name STRING, email STRING, credit_card STRING, city STRING, state STRING, date_time TIMESTAMP, extra STRING)
  WITH (KAFKA_TOPIC = 'person', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE people (id BIGINT PRIMARY KEY, name STRING, email STRING, credit_card STRING, city STRING, state STRING, date_time TIMESTAMP, extra STRING)
  WITH (KAFKA_TOPIC = 'person', VALUE_FORMAT = 'JSON');
CREATE STREAM auction (id BIGINT KEY, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING)
  WITH (KAFKA_TOPIC = 'auction', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE auctions (id BIGINT PRIMARY KEY, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING)
  WITH (KAFKA_TOPIC = 'auction', VALUE_FORMAT = 'JSON');
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, extra STRING)
  WITH (KAFKA_TOPIC = 'bid', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE side (k BIGINT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC = 'side', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
