-- Orders with the data of their customers: tables joined by a foreign key.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

CREATE TABLE customers (id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = 'crm_customers', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- An order may still change: a record with the same id replaces it.
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, total DECIMAL(10, 2))
  WITH (KAFKA_TOPIC = 'crm_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- The result has the key of the orders. An order whose customer is not known yet has no name and no city.
CREATE TABLE enriched_orders WITH (KAFKA_TOPIC = 'crm_enriched_orders') AS
SELECT o.id AS id, o.total AS total, c.name AS name, c.city AS city
FROM orders o
LEFT JOIN customers c ON o.customer = c.id
EMIT CHANGES;
