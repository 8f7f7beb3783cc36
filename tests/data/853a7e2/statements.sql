-- Each part is one request; what SET says holds for its own part. Records come behind the first part.
CREATE TYPE money AS DECIMAL(10, 2);
CREATE TYPE odd AS STRUCT<a INT, b ARRAY<STRING>>;
CREATE STREAM orders (id INT KEY, item STRING, price money, placed TIMESTAMP, tags ARRAY<STRING>)
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'placed');
CREATE STREAM returns (id INT KEY, item STRING, price money, why STRING)
  WITH (KAFKA_TOPIC = 'returns', VALUE_FORMAT = 'DELIMITED', VALUE_DELIMITER = '|', PARTITIONS = 1);
CREATE TABLE items (item STRING PRIMARY KEY, maker STRING, stock INT)
  WITH (KAFKA_TOPIC = 'items', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE prices (item STRING PRIMARY KEY, price DOUBLE)
  WITH (KAFKA_TOPIC = 'prices', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'DELIMITED', PARTITIONS = 1);
CREATE STREAM marked (one BYTES HEADER('one'), v STRING) WITH (KAFKA_TOPIC = 'marked', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM spare (id INT KEY, m MAP<STRING, odd>, h ARRAY<STRUCT<KEY STRING, VALUE BYTES>> HEADERS)
  WITH (KAFKA_TOPIC = 'spare', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE SOURCE TABLE watched (item STRING PRIMARY KEY, maker STRING) WITH (KAFKA_TOPIC = 'items', VALUE_FORMAT = 'JSON');
-- part
CREATE STREAM cheap WITH (QUERY_ID = 'cheap') AS
  SELECT id, UCASE(item) AS item, price * 2 AS twice, '''q''' AS q, TO_BYTES('00FF', 'hex') AS b, 1.5E0 AS f FROM orders WHERE price < 100;
INSERT INTO cheap WITH (QUERY_ID = 'back') SELECT id, item, price * 2 AS twice, 'r' AS q, TO_BYTES('01', 'hex') AS b, -0.5E0 AS f FROM returns;
CREATE TABLE totals WITH (QUERY_ID = 'totals') AS
  SELECT item, COUNT(*) AS n, SUM(price) AS total, COLLECT_LIST(id) AS ids FROM orders GROUP BY item HAVING COUNT(*) > 1;
CREATE TABLE hourly WITH (QUERY_ID = 'hourly') AS
  SELECT item, COUNT(*) AS n, LATEST_BY_OFFSET(price) AS p FROM orders
  WINDOW HOPPING (SIZE 2 HOURS, ADVANCE BY 1 HOUR, GRACE PERIOD 1 DAY) GROUP BY item;
CREATE STREAM made WITH (QUERY_ID = 'made') AS
  SELECT o.item AS item, o.id, i.maker FROM orders o LEFT JOIN items i ON o.item = i.item PARTITION BY o.item;
CREATE TABLE offers WITH (QUERY_ID = 'offers') AS
  SELECT ROWKEY AS item, i.maker, p.price FROM items i FULL OUTER JOIN prices p ON i.item = p.item;
CREATE TABLE makers WITH (QUERY_ID = 'makers') AS SELECT maker, SUM(stock) AS stock FROM items GROUP BY maker;
CREATE TABLE stocked WITH (QUERY_ID = 'stocked') AS SELECT item, stock FROM items WHERE stock > 3;
CREATE STREAM tagged WITH (QUERY_ID = 'tagged') AS
  SELECT id, EXPLODE(TRANSFORM(tags, t => LCASE(t))) AS tag FROM orders EMIT CHANGES;
CREATE STREAM both WITH (QUERY_ID = 'both') AS
  SELECT * FROM (SELECT id, item FROM orders UNION ALL SELECT id, item FROM returns) AS u WHERE item IS NOT NULL;
CREATE STREAM doomed WITH (QUERY_ID = 'doomed') AS SELECT * FROM orders;
CREATE STREAM kept AS SELECT id, CASE WHEN price > 5 THEN 'dear' END AS c FROM orders;
-- part
SET 'ksql.functions.collect_list.limit' = '2';
SET 'ksql.late.records.topic' = 'late';
SET 'ksql.persistence.default.format.value' = 'DELIMITED';
CREATE TABLE daily WITH (QUERY_ID = 'daily') AS
  SELECT item, COLLECT_LIST(id) AS ids FROM orders WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD 1 DAY) GROUP BY item;
CREATE STREAM plain (id INT KEY, v STRING) WITH (KAFKA_TOPIC = 'plain', PARTITIONS = 1);
-- part
CREATE OR REPLACE STREAM cheap WITH (QUERY_ID = 'cheap') AS
  SELECT id, UCASE(item) AS item, price * 2 AS twice, '''q''' AS q, TO_BYTES('00FF', 'hex') AS b, 1.5E0 AS f FROM orders WHERE price < 50;
ALTER STREAM spare ADD COLUMN more STRING;
DROP STREAM doomed;
DROP TYPE odd;
PAUSE made;
RESUME made;
PAUSE tagged;
