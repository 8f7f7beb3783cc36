-- Items with the stock below which they are ordered again; what goes out, and what comes in.
CREATE TABLE items (item STRING PRIMARY KEY, name STRING, least BIGINT) WITH (KAFKA_TOPIC = 'items', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM orders (item STRING KEY, quantity BIGINT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM supplies (item STRING KEY, quantity BIGINT) WITH (KAFKA_TOPIC = 'supplies', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
