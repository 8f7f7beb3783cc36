-- What comes in. Files need no order: each statement comes behind those that it needs.
CREATE TYPE money AS DECIMAL(10, 2);

CREATE STREAM orders (id INT KEY, customer STRING, amount money)
  WITH (KAFKA_TOPIC = '${stage}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM audit (id INT KEY, customer STRING)
  WITH (KAFKA_TOPIC = '${stage}_audit', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
