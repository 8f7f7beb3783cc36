-- What a server runs, too: a query is passed over, its result is known.
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (id INT KEY, customer STRING, amount DECIMAL(6, 2), placed BIGINT)
  WITH (kafka_topic = 'orders', value_format = 'JSON', timestamp = 'placed', partitions = 1);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic = 'customers', value_format = 'JSON', partitions = 1);
CREATE TABLE totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;
CREATE STREAM visits (who STRING, page STRING, stay DOUBLE)
  WITH (kafka_topic = 'visits', value_format = 'JSON', partitions = 1);
