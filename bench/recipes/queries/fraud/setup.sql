-- Payments; a join of a stream with itself needs a second name for the topic.
CREATE STREAM payments (account STRING KEY, id BIGINT, amount BIGINT, place STRING) WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM payments_again (account STRING KEY, id BIGINT, amount BIGINT, place STRING) WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON');
