-- Readings by the time at which they were taken, and by the time at which they came.
CREATE STREAM readings (machine STRING KEY, celsius DOUBLE, measured BIGINT) WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON', TIMESTAMP = 'measured', PARTITIONS = 1);
CREATE STREAM arrivals (machine STRING KEY, celsius DOUBLE, measured BIGINT) WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON');
