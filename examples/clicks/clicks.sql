-- Impressions of advertisements joined with the clicks on them: which were clicked, and how often each one is.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- An advertisement was shown.
CREATE STREAM impressions (id INT KEY, ad STRING)
  WITH (KAFKA_TOPIC = 'ads_impressions', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- An impression was clicked.
CREATE STREAM clicks (impression INT KEY, device STRING)
  WITH (KAFKA_TOPIC = 'ads_clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A click belongs to its impression if it is at most 10 minutes later. An impression without one comes out when
-- no click can come any more: clicks may be a minute late.
CREATE STREAM outcomes WITH (KAFKA_TOPIC = 'ads_outcomes') AS
SELECT
  i.id AS id,
  i.ad AS ad,
  c.device AS device,
  CASE WHEN c.impression IS NULL THEN 0 ELSE 1 END AS clicked
FROM impressions i
LEFT JOIN clicks c
  WITHIN (0 SECONDS, 10 MINUTES) GRACE PERIOD 1 MINUTE
  ON i.id = c.impression
EMIT CHANGES;

-- A query that reads what another one writes.
CREATE TABLE click_through WITH (KAFKA_TOPIC = 'ads_click_through') AS
SELECT
  ad,
  COUNT(*) AS shown,
  SUM(clicked) AS clicked,
  100 * SUM(clicked) / COUNT(*) AS percent
FROM outcomes
GROUP BY ad
EMIT CHANGES;
