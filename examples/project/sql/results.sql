-- What is made of it. Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- Orders below ${least} do not count: a test sends them to see whether the shop is open.
CREATE STREAM real_orders WITH (KAFKA_TOPIC = '${stage}_real_orders') AS
SELECT id, customer, amount
FROM orders
WHERE amount >= ${least};

CREATE TABLE spent WITH (KAFKA_TOPIC = '${stage}_spent') AS
SELECT customer, COUNT(*) AS orders, SUM(amount) AS amount
FROM real_orders
GROUP BY customer;

-- A second writer has a name, by which it is found again.
INSERT INTO audit WITH (QUERY_ID = 'audit_orders') SELECT id, customer FROM orders;
