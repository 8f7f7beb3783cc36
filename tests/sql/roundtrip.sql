-- Every statement here parses, prints and parses to the same tree, and is accepted by grammar/ksql.lark.

-- sources
CREATE STREAM rides (ride_id BIGINT KEY, driver STRING, fare DECIMAL(8, 2), km DOUBLE) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON');
create table drivers (id varchar primary key, name varchar(40), seats int) with (kafka_topic='drivers', value_format='avro', partitions=3);
CREATE STREAM IF NOT EXISTS `Mixed-Case` ("weird ""name""" STRING, `back``tick` INT) WITH ('kafka_topic' = 'm', "retention" = -1, ok = TRUE, nothing = NULL);
CREATE STREAM nested (a ARRAY<MAP<STRING, STRUCT<x INT, y ARRAY<ARRAY<DOUBLE>>>>>, b INT ARRAY ARRAY, c STRUCT<>, d STRUCT< >, e address, f VARCHAR(STRING)) WITH (KAFKA_TOPIC='n');
CREATE STREAM times (d DATE, t TIME, ts TIMESTAMP, raw BYTES, flag BOOLEAN) WITH (KAFKA_TOPIC='t');
CREATE TABLE inferred WITH (KAFKA_TOPIC='inferred');
CREATE STREAM bare (a INT);
CREATE STREAM if (if INT KEY, key STRING, primary STRING) WITH (kafka_topic='if');
CREATE OR REPLACE STREAM rides (ride_id BIGINT KEY, tip DOUBLE) WITH (KAFKA_TOPIC = 'rides');
CREATE SOURCE TABLE cities (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'cities', VALUE_FORMAT = 'JSON');
CREATE OR REPLACE SOURCE STREAM IF NOT EXISTS source WITH (KAFKA_TOPIC = 's');
CREATE STREAM marked (a INT, trace BYTES HEADER('trace-id'), hs ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, headers INT) WITH (KAFKA_TOPIC = 'm');
CREATE TYPE address AS STRUCT<street STRING, number INT, tags ARRAY<STRING>>; CREATE TYPE IF NOT EXISTS money AS DECIMAL(9, 2);
DROP TYPE address; DROP TYPE IF EXISTS type;
ALTER STREAM rides ADD COLUMN tip DOUBLE; ALTER TABLE drivers ADD seats INT, ADD COLUMN COLUMN STRING, column DECIMAL(3, 1), xs INT ARRAY; ALTER TABLE t ADD COLUMN INT;
ALTER TABLE t ADD COLUMN ARRAY<INT>;
ALTER SYSTEM 'ksql.query.retry.backoff.max.ms' = '1000';

-- connectors
CREATE SOURCE CONNECTOR IF NOT EXISTS files WITH ('connector.class' = 'FileStreamSource', "file" = '/tmp/x', tasks = 2); CREATE SINK CONNECTOR `to-S3` WITH (a = TRUE);
SHOW CONNECTORS; LIST SOURCE CONNECTORS; SHOW SINK CONNECTORS; SHOW CONNECTOR PLUGINS; DESCRIBE CONNECTOR files; DROP CONNECTOR files; DROP CONNECTOR IF EXISTS files;

-- queries that stay
CREATE STREAM long_rides AS SELECT * FROM rides WHERE km > 20.5;
CREATE TABLE IF NOT EXISTS per_driver WITH (PARTITIONS = 1) AS SELECT driver, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY driver HAVING COUNT(*) > 3 EMIT CHANGES;
CREATE TABLE t AS SELECT a FROM s WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECOND, RETENTION 2 DAYS, GRACE PERIOD 500 MILLISECONDS) WHERE b GROUP BY a;
CREATE TABLE t AS SELECT a FROM s WINDOW TUMBLING (SIZE 1 DAY, RETENTION 7 DAY) GROUP BY a;
CREATE TABLE t AS SELECT a FROM s WINDOW TUMBLING (SIZE 90 MINUTES, GRACE PERIOD 1 MILLISECOND) GROUP BY a;
CREATE STREAM enriched AS SELECT r.ride_id AS id, d.name FROM rides AS r LEFT JOIN drivers d ON r.driver = d.id;
CREATE STREAM rekeyed AS SELECT * FROM rides PARTITION BY driver;
CREATE STREAM rekeyed AS SELECT * FROM rides PARTITION BY (driver, UCASE(city)) EMIT CHANGES;
CREATE OR REPLACE TABLE per_visit AS SELECT user, COUNT(*) AS pages FROM clicks WINDOW SESSION (10 MINUTES, RETENTION 1 DAY, GRACE PERIOD 30 SECONDS) GROUP BY user EMIT FINAL;
CREATE TABLE t AS SELECT a FROM s WINDOW SESSION (1 HOUR) GROUP BY a; CREATE TABLE t AS SELECT a FROM s WINDOW visits TUMBLING (SIZE 1 HOUR) GROUP BY a;
CREATE STREAM paid AS SELECT o.id AS id, p.sum FROM orders o JOIN payments p WITHIN 1 HOUR ON o.id = p.id;
CREATE STREAM paid AS SELECT * FROM orders o LEFT JOIN payments p WITHIN (1 HOUR, 30 MINUTES) GRACE PERIOD 5 SECONDS ON o.id = p.id RIGHT OUTER JOIN x ON TRUE;
CREATE TABLE whole AS SELECT * FROM a FULL OUTER JOIN b ON a.id = b.id FULL JOIN c ON c.id = b.id RIGHT JOIN grace grace ON TRUE;
INSERT INTO all_rides SELECT * FROM rides; INSERT INTO all_rides WITH (QUERY_ID = 'second') SELECT * FROM rides PARTITION BY driver EMIT CHANGES;
CREATE STREAM named WITH (QUERY_ID = 'my_query', KAFKA_TOPIC = 'n') AS SELECT * FROM rides;

-- what ksqlDB has not
CREATE STREAM busy AS WITH long AS (SELECT * FROM rides WHERE km > 20), far AS (SELECT driver FROM long EMIT CHANGES) SELECT * FROM far JOIN long ON far.driver = long.driver;
CREATE STREAM both AS SELECT a FROM s UNION ALL SELECT b FROM (SELECT b FROM t) x UNION ALL SELECT c FROM u WHERE c > 1 EMIT CHANGES;
WITH q AS (SELECT a FROM s) SELECT * FROM q; INSERT INTO s WITH q AS (SELECT a FROM t) SELECT a FROM q;
SELECT * FROM (SELECT a FROM s GROUP BY (a)) LEFT JOIN (SELECT a FROM (SELECT a FROM t LIMIT 3)) AS t ON TRUE;
SELECT driver, km FROM rides ORDER BY km DESC, driver, fare * 2 ASC NULLS FIRST, x NULLS LAST LIMIT 3;
SELECT city, COUNT(*) FROM drivers GROUP BY city ORDER BY city; SELECT * FROM s AS l JOIN s AS r ON l.a = r.b;
SELECT a FROM s UNION ALL SELECT a FROM t ORDER BY a LIMIT 1;
SELECT a order, b union, c first FROM s order JOIN t union ON union.a = order.a JOIN nulls ON asc = desc;
DROP STREAM rides CASCADE; DROP TABLE IF EXISTS cascade DELETE TOPIC CASCADE; DELETE FROM drivers WHERE id = 'd1' AND x;

-- queries that look
SELECT * FROM rides EMIT CHANGES LIMIT 10;
SELECT r.*, d.name FROM rides r INNER JOIN drivers AS d ON r.driver = d.id LEFT OUTER JOIN cities c ON c.id = d.city JOIN x ON TRUE EMIT CHANGES;
SELECT driver who, km AS far, address->*, r.address->street->*, xs[1]->* FROM rides r;
SELECT a emit, b partition FROM s emit EMIT CHANGES;
SELECT a FROM s partition PARTITION BY a;
SELECT a FROM s GROUP BY (a); SELECT a FROM s GROUP BY (); SELECT a FROM s PARTITION BY () EMIT CHANGES; SELECT CAST(a AS DECIMAL(50, 50)) FROM s;
SELECT a FROM s GROUP BY (a), b;
SELECT a FROM s GROUP BY (a) + 1, (b)[1];
SELECT a FROM s GROUP BY (a + 1, b);
SELECT a FROM s GROUP BY (a IS NULL);
SELECT a FROM s PARTITION BY (x LIKE 'a%' OR y);

-- expressions
SELECT 1, 1.5, 1., .5, 1e3, 1.5E-2, .5e+1, 0007, 9223372036854775807, -9223372036854775808, 'it''s', '', NULL, TRUE, false, DECIMAL '1.20' FROM s;
SELECT a + b - c * d / e % f, (a + b) * c, -a, - -1, +a, a - -1, -(-a), a || 'x' || b FROM s;
SELECT NOT a, NOT NOT a, NOT a = b AND c OR d AND NOT (e OR f) FROM s;
SELECT a = 1, a <> 1, a != 1, a < 1, a <= 1, a > 1, a >= 1, (a = b) = c FROM s;
SELECT a IS NULL, a IS NOT NULL, NOT a IS NULL, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b + 1 FROM s;
SELECT a BETWEEN 1 AND 2 AND b, a NOT BETWEEN b + 1 AND c || d FROM s;
SELECT a IN (1), a NOT IN (1, 2, b = c), NOT a IN ('x') FROM s;
SELECT a LIKE 'x%', a NOT LIKE '%!%' ESCAPE '!', a || b LIKE c || d FROM s;
SELECT CASE WHEN a THEN 1 WHEN b = 2 THEN CASE WHEN c THEN 2 END ELSE 3 END, CASE a WHEN 1 THEN 'one' ELSE 'many' END FROM s;
SELECT CAST(a AS STRING), CAST(a + 1 AS DECIMAL(10, 0)), CAST(b AS ARRAY<STRUCT<x INT>>), CAST(c AS MAP<STRING, money>) FROM s;
SELECT xs[1], xs[-1], m['key'], xs[i + 1][2], f(x)[1], (a)[1], s->a->b, s->m['k']->c, t.s->a, f(a)->b, 'abc'[1] FROM s;
SELECT ARRAY[], ARRAY[1, 2 + 3, ARRAY['x']], MAP(), MAP('a' := 1, b || 'c' := 2 = 3), STRUCT(), STRUCT(a := 1, `B c` := STRUCT(d := NULL)) FROM s;
SELECT TRANSFORM(xs, x => x + 1), REDUCE(m, 0, (s, k, v) => s + LEN(k) + v), FILTER(xs, (x) => x->y > z), TRANSFORM(xs, x => TRANSFORM(x, y => x * y)) FROM s;
SELECT f(), COUNT(*), `My Func`(1), DATEADD(DAYS, 1, d), TIMESTAMPADD(MILLISECOND, 5, ts), f(day, hour), IF(a, b, c), REPLACE(a, 'x', 'y') FROM s;
SELECT `ARRAY`[1], `MAP`, "STRUCT", array, map, struct, date, `lower`, `SELECT`, `1x`, 1x, `a``b`, a@b, _c, rowtime FROM s;
SELECT /* a comment */ a -- another; with a semicolon
FROM s; -- at the end

-- the rest
INSERT INTO rides VALUES (1, 'x', 2.5, -1e1);
INSERT INTO rides (ride_id, `driver`) VALUES (1 + 2, UCASE('x') || 'y'); INSERT INTO rides (fare) VALUES (ARRAY[STRUCT(a := MAP('k' := NULL))]);
SHOW STREAMS; LIST STREAMS EXTENDED; SHOW TABLES; SHOW TABLES EXTENDED; SHOW QUERIES; LIST QUERIES EXTENDED;
SHOW TOPICS; LIST ALL TOPICS; SHOW PROPERTIES; show functions;
DESCRIBE rides; DESCRIBE rides EXTENDED; DESCRIBE FUNCTION ucase; DESCRIBE function; DESCRIBE FUNCTION EXTENDED; DESCRIBE FUNCTION function;
EXPLAIN CSAS_RIDES_1; EXPLAIN SELECT * FROM rides EMIT CHANGES; EXPLAIN CREATE TABLE t AS SELECT a, COUNT(*) FROM s GROUP BY a;
TERMINATE CSAS_RIDES_1; TERMINATE ALL;
PAUSE CSAS_RIDES_1; PAUSE ALL; RESUME CSAS_RIDES_1; RESUME ALL;
SKIP 'rides/0/17' FOR CSAS_RIDES_1; SKIP 'rides/0/17' FOR ALL;
DROP STREAM rides; DROP TABLE IF EXISTS drivers; DROP STREAM if DELETE TOPIC; DROP STREAM IF EXISTS if DELETE TOPIC;
SET 'auto.offset.reset' = 'earliest'; UNSET 'auto.offset.reset'; SET 'a'='';
SHOW TOPICS EXTENDED; SHOW ALL TOPICS EXTENDED; SHOW TYPES; LIST VARIABLES; DESCRIBE STREAMS; DESCRIBE STREAMS EXTENDED; DESCRIBE tables;
EXPLAIN INSERT INTO all_rides SELECT * FROM rides; EXPLAIN WITH q AS (SELECT a FROM s) SELECT * FROM q; EXPLAIN CREATE OR REPLACE STREAM x AS SELECT a FROM s;
PRINT rides; PRINT 'Rides-1' FROM BEGINNING INTERVAL 10 LIMIT 5; PRINT `Rides` SAMPLE 2; PRINT interval LIMIT 0;
DEFINE amount = '12'; DEFINE quoted = '''it'''; UNDEFINE amount; RUN SCRIPT '/etc/start.sql';

-- assertions
ASSERT TOPIC rides; ASSERT NOT EXISTS TOPIC 'rides-1' WITH (PARTITIONS = 3, REPLICAS = 1) TIMEOUT 10 SECONDS; ASSERT TOPIC timeout TIMEOUT 1 MINUTE;
ASSERT SCHEMA SUBJECT 'rides-value' ID 7 TIMEOUT 500 MILLISECONDS; ASSERT NOT EXISTS SCHEMA ID 3; ASSERT SCHEMA SUBJECT id;
ASSERT VALUES rides (ride_id, rowtime) VALUES (1, 2 + 3); ASSERT VALUES rides VALUES ('x', STRUCT(a := 1)); ASSERT NULL VALUES drivers (id) KEY ('d1'); ASSERT NULL VALUES drivers KEY (1);
ASSERT STREAM rides (ride_id BIGINT KEY, fare DOUBLE) WITH (VALUE_FORMAT = 'JSON'); ASSERT TABLE drivers WITH (KAFKA_TOPIC = 'd'); ASSERT STREAM rides;
