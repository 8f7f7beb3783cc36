-- Page views of a web site, counted by minute: views, unique visitors, the slowest views, and the pages of each visitor.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- One record a view. It may come up to 10 seconds late.
CREATE STREAM views (page STRING KEY, visitor STRING, millis INT)
  WITH (KAFKA_TOPIC = 'site_views', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A row a page and minute. It changes with each view.
CREATE TABLE page_minutes WITH (KAFKA_TOPIC = 'site_page_minutes') AS
SELECT
  page,
  COUNT(*) AS views,
  COUNT_DISTINCT(visitor) AS visitors,
  TOPK(millis, 2) AS slowest
FROM views
WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 10 SECONDS)
GROUP BY page
EMIT CHANGES;

-- The last five minutes of the whole site, once a minute. The key is the same for all views.
CREATE TABLE site_five_minutes WITH (KAFKA_TOPIC = 'site_five_minutes') AS
SELECT 'all' AS site, COUNT(*) AS views, COUNT_DISTINCT(visitor) AS visitors
FROM views
WINDOW HOPPING (SIZE 5 MINUTES, ADVANCE BY 1 MINUTE, GRACE PERIOD 10 SECONDS)
GROUP BY 'all'
EMIT FINAL;

-- Which pages a visitor has seen, each once, and in which order they were last opened.
CREATE TABLE visitors WITH (KAFKA_TOPIC = 'site_visitors') AS
SELECT
  visitor,
  COUNT(*) AS views,
  COLLECT_SET(page) AS pages,
  LATEST_BY_OFFSET(page, 2) AS last_pages
FROM views
GROUP BY visitor
EMIT CHANGES;
