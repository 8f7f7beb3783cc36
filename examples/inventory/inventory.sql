-- A stock that goes up with deliveries and down with orders, and a list of what to order again.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- ------------------------------------------------------------------------------------------------ what is in Kafka

-- What is sold, from how few pieces on it is ordered again, and how many at once.
CREATE TABLE products (sku STRING PRIMARY KEY, name STRING, reorder_below INT, lot INT)
  WITH (KAFKA_TOPIC = 'depot_products', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM deliveries (sku STRING KEY, pieces INT)
  WITH (KAFKA_TOPIC = 'depot_deliveries', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM orders (sku STRING KEY, id INT, customer STRING, pieces INT)
  WITH (KAFKA_TOPIC = 'depot_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- ------------------------------------------------------------------------------------------------ orders

-- A stream joined with a table: each order gets the name that the product has when the order comes.
CREATE STREAM pick_list WITH (KAFKA_TOPIC = 'depot_pick_list') AS
SELECT
  o.sku AS sku,
  o.id AS id,
  o.customer AS customer,
  o.pieces AS pieces,
  p.name AS name
FROM orders o
LEFT JOIN products p ON o.sku = p.sku
EMIT CHANGES;

-- ------------------------------------------------------------------------------------------------ stock

-- What comes in counts up, what goes out counts down.
CREATE STREAM movements WITH (KAFKA_TOPIC = 'depot_movements') AS
SELECT sku, pieces AS pieces FROM deliveries
UNION ALL
SELECT sku, -pieces AS pieces FROM orders
EMIT CHANGES;

CREATE TABLE stock WITH (KAFKA_TOPIC = 'depot_stock') AS
SELECT sku, SUM(pieces) AS pieces
FROM movements
GROUP BY sku
EMIT CHANGES;

-- Two tables joined: a row for each product below its level. It goes when there is enough of it again.
CREATE TABLE reorders WITH (KAFKA_TOPIC = 'depot_reorders') AS
SELECT s.sku AS sku, p.name AS name, s.pieces AS pieces, p.lot AS lot
FROM stock s
JOIN products p ON s.sku = p.sku
WHERE s.pieces < p.reorder_below
EMIT CHANGES;
