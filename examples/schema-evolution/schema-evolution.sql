-- A field comes to the values of a topic, while producers of before still write without it.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- ------------------------------------------------------------------------------------------------ the first day

-- The producers of before. The registry has their schema, version 1 of bank_payments-value.
CREATE STREAM payments_of_before (id INT KEY, shop STRING, amount DECIMAL(10, 2))
  WITH (KAFKA_TOPIC = 'bank_payments', VALUE_FORMAT = 'AVRO', PARTITIONS = 1);

-- The same topic, for the queries and the new producers.
CREATE STREAM payments (id INT KEY, shop STRING, amount DECIMAL(10, 2))
  WITH (KAFKA_TOPIC = 'bank_payments', VALUE_FORMAT = 'AVRO', PARTITIONS = 1);

CREATE STREAM booked WITH (KAFKA_TOPIC = 'bank_booked') AS
SELECT id, shop, amount
FROM payments
EMIT CHANGES;

-- ------------------------------------------------------------------------------------------------ the second day

-- Version 2: a column more, which is null where a record does not have it.
ALTER STREAM payments ADD COLUMN currency STRING;

-- The query goes on where it was, and has a column more. What was paid without a currency was paid in euros.
CREATE OR REPLACE STREAM booked WITH (KAFKA_TOPIC = 'bank_booked') AS
SELECT id, shop, amount, COALESCE(currency, 'EUR') AS currency
FROM payments
EMIT CHANGES;

CREATE TABLE turnover WITH (KAFKA_TOPIC = 'bank_turnover', VALUE_FORMAT = 'JSON') AS
SELECT currency, COUNT(*) AS payments, SUM(amount) AS amount
FROM booked
GROUP BY currency
EMIT CHANGES;
