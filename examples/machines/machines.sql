-- Temperatures of many machines: by minute as they come, by day when the day is over, and what came too late.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- A reading a machine and second. The time is that of the reading, not that at which it was sent.
CREATE STREAM readings (machine STRING KEY, celsius DOUBLE, taken_at BIGINT)
  WITH (
    KAFKA_TOPIC = 'fleet_readings',
    VALUE_FORMAT = 'JSON',
    PARTITIONS = 1,
    TIMESTAMP = 'taken_at'
  );

-- What is too late for its minute, as it came.
CREATE STREAM late_readings (machine STRING KEY, celsius DOUBLE, taken_at BIGINT)
  WITH (KAFKA_TOPIC = 'fleet_late', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- Of the next query.
SET 'ksql.late.records.topic' = 'fleet_late';

-- Each reading changes the row of its minute at once. A reading may come 30 seconds late.
CREATE TABLE by_minute WITH (KAFKA_TOPIC = 'fleet_by_minute', QUERY_ID = 'by_minute') AS
SELECT machine, COUNT(*) AS readings, MAX(celsius) AS hottest
FROM readings
WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
GROUP BY machine
EMIT CHANGES;

UNSET 'ksql.late.records.topic';

-- One row a machine and day. A reading may come an hour late.
CREATE TABLE by_day WITH (KAFKA_TOPIC = 'fleet_by_day') AS
SELECT
  machine,
  COUNT(*) AS readings,
  MIN(celsius) AS coldest,
  ROUND(AVG(celsius), 1) AS mean,
  MAX(celsius) AS hottest
FROM readings
WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD 1 HOUR)
GROUP BY machine
EMIT FINAL;

-- The last reading of each machine.
CREATE TABLE machines WITH (KAFKA_TOPIC = 'fleet_machines') AS
SELECT machine, COUNT(*) AS readings, LATEST_BY_OFFSET(celsius) AS celsius
FROM readings
GROUP BY machine
EMIT CHANGES;
