-- Payments far above the mean of their account: each change of a table that HAVING lets pass is one.
CREATE TABLE large_now AS
  SELECT account, LATEST_BY_OFFSET(id) AS id, LATEST_BY_OFFSET(amount) AS amount, AVG(amount) AS mean
  FROM payments GROUP BY account HAVING COUNT(*) >= 5 AND LATEST_BY_OFFSET(amount) > 3 * AVG(amount);
CREATE STREAM large_seen (account STRING KEY, id BIGINT, amount BIGINT, mean DOUBLE) WITH (KAFKA_TOPIC = 'LARGE_NOW', VALUE_FORMAT = 'JSON');
CREATE STREAM large AS SELECT account, id, amount, mean FROM large_seen;
