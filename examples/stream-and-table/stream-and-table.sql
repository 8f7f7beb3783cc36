-- The same records read as a stream, and as a table.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- Where somebody is. As a stream each record is something that happened.
CREATE STREAM moves (person STRING KEY, city STRING)
  WITH (KAFKA_TOPIC = 'people_moves', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- The same topic. As a table each record says what holds from now on for its key.
CREATE TABLE places (person STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = 'people_moves', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- All records, one after the other.
CREATE STREAM all_moves WITH (KAFKA_TOPIC = 'people_all_moves') AS
SELECT person, city
FROM moves
EMIT CHANGES;

-- The last record of each person.
CREATE TABLE now_in WITH (KAFKA_TOPIC = 'people_now_in') AS
SELECT person, city
FROM places
EMIT CHANGES;

-- How often somebody came to a city: a count of a stream only grows.
CREATE TABLE arrivals WITH (KAFKA_TOPIC = 'people_arrivals') AS
SELECT city, COUNT(*) AS arrivals
FROM moves
GROUP BY city
EMIT CHANGES;

-- How many people are in a city: who leaves is taken out of the count.
CREATE TABLE residents WITH (KAFKA_TOPIC = 'people_residents') AS
SELECT city, COUNT(*) AS people
FROM places
GROUP BY city
EMIT CHANGES;
