-- Who there is, and what they click.
CREATE TABLE users (id BIGINT PRIMARY KEY, name STRING, plan STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM clicks (user_id BIGINT KEY, page STRING, status INT, bytes BIGINT) WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
