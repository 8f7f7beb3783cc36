-- Alerts of sensors that were too hot: one a sensor and minute, when the minute is over.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM readings (sensor STRING KEY, celsius DOUBLE)
  WITH (KAFKA_TOPIC = 'plant_readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- EMIT CHANGES would give a row for each reading above 80, and for each one after it. Readings may be 10 seconds late.
CREATE TABLE alerts WITH (KAFKA_TOPIC = 'plant_alerts') AS
SELECT sensor, COUNT(*) AS readings, MAX(celsius) AS hottest
FROM readings
WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 10 SECONDS)
GROUP BY sensor
HAVING MAX(celsius) > 80
EMIT FINAL;
