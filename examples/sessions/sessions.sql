-- Visits to a web shop: the pages that a visitor opens within 30 minutes of each other, and what was bought on them.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- One record a page. Only the page behind a purchase has an amount.
CREATE STREAM page_views (visitor STRING KEY, page STRING, amount DECIMAL(10, 2))
  WITH (KAFKA_TOPIC = 'shop_page_views', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A visit begins with its first page and ends with its last. Page views may come up to an hour late.
CREATE TABLE visits WITH (KAFKA_TOPIC = 'shop_visits') AS
SELECT
  visitor,
  COUNT(*) AS pages,
  SUM(amount) AS revenue,
  WINDOWSTART AS begins,
  WINDOWEND AS ends
FROM page_views
WINDOW SESSION (30 MINUTES, GRACE PERIOD 1 HOUR)
GROUP BY visitor
EMIT CHANGES;
