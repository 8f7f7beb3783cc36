-- New York taxi rides of March 2019: branches, counts, windows, a join, and a sum on top of the join.
-- `ksqlpy demo` runs this file; README.md tells how to run it on a server of your own.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- ------------------------------------------------------------------------------------------------ what is in Kafka

-- The zones of the city. A table keeps the last record of every key: an id that is written twice has its last row.
CREATE TABLE zones (locationid INT PRIMARY KEY, zone STRING, borough STRING)
  WITH (KAFKA_TOPIC = 'taxi_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- One record a ride, keyed by the vendor of the taximeter; columns as the city publishes them. What a ride does not have
-- (yellow cabs have no trip_type) is NULL. A ride happens when it begins: ROWTIME is the pickup time, local time read
-- as UTC, and not the time at which the record was written.
CREATE STREAM rides (
  vendorid              INT KEY,
  tpep_pickup_datetime  STRING,
  tpep_dropoff_datetime STRING,
  passenger_count       INT,
  trip_distance         DOUBLE,
  ratecodeid            INT,
  store_and_fwd_flag    STRING,
  pulocationid          INT,
  dolocationid          INT,
  payment_type          INT,
  fare_amount           DECIMAL(10, 2),
  extra                 DECIMAL(10, 2),
  mta_tax               DECIMAL(10, 2),
  tip_amount            DECIMAL(10, 2),
  tolls_amount          DECIMAL(10, 2),
  improvement_surcharge DECIMAL(10, 2),
  total_amount          DECIMAL(10, 2),
  congestion_surcharge  DECIMAL(10, 2),
  color                 STRING,
  ehail_fee             DECIMAL(10, 2),
  trip_type             INT
) WITH (
  KAFKA_TOPIC = 'taxi_rides',
  VALUE_FORMAT = 'JSON',
  PARTITIONS = 1,
  TIMESTAMP = 'tpep_pickup_datetime',
  TIMESTAMP_FORMAT = 'yyyy-MM-dd HH:mm:ss'
);

-- ------------------------------------------------------------------------------------------------ join

-- Some rides begin in a zone that the zone table does not know: they come out too, without zone and borough.
CREATE STREAM enriched_rides WITH (KAFKA_TOPIC = 'taxi_enriched_rides') AS
SELECT
  r.pulocationid AS pickup_id,
  z.zone AS zone,
  z.borough AS borough,
  r.vendorid AS vendorid,
  r.tpep_pickup_datetime AS pickup_time,
  r.total_amount AS total_amount
FROM rides r
LEFT JOIN zones z ON r.pulocationid = z.locationid
EMIT CHANGES;

-- A query that reads what another one writes. A row with a NULL key would belong to no group, hence IFNULL.
CREATE TABLE boroughs WITH (KAFKA_TOPIC = 'taxi_boroughs') AS
SELECT
  IFNULL(borough, 'Unknown') AS name,
  COUNT(*) AS rides,
  SUM(total_amount) AS revenue
FROM enriched_rides
GROUP BY IFNULL(borough, 'Unknown')
EMIT CHANGES;

-- ------------------------------------------------------------------------------------------------ branches

-- Every ride goes into one of two topics.
CREATE STREAM large_rides WITH (KAFKA_TOPIC = 'taxi_large_rides') AS
SELECT *
FROM rides
WHERE total_amount >= 40
EMIT CHANGES;

CREATE STREAM small_rides WITH (KAFKA_TOPIC = 'taxi_small_rides') AS
SELECT *
FROM rides
WHERE total_amount < 40
EMIT CHANGES;

-- ------------------------------------------------------------------------------------------------ counts and windows

CREATE TABLE rides_per_vendor WITH (KAFKA_TOPIC = 'taxi_rides_per_vendor') AS
SELECT vendorid, COUNT(*) AS rides
FROM rides
GROUP BY vendorid
EMIT CHANGES;

-- The rides come in no order of time, and the first may come last: an hour stays open for the whole month.
CREATE TABLE zone_hours WITH (KAFKA_TOPIC = 'taxi_zone_hours') AS
SELECT pulocationid, COUNT(*) AS rides, SUM(total_amount) AS revenue
FROM rides
WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 31 DAYS)
GROUP BY pulocationid
EMIT CHANGES;
