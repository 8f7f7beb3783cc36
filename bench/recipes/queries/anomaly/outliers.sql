-- Outliers: minutes with a reading far from their mean, once each, when readings may be late no more.
CREATE TABLE outliers AS
  SELECT machine, COUNT(*) AS readings, AVG(celsius) AS mean, STDDEV_SAMPLE(celsius) AS deviation, MAX(celsius) AS highest
  FROM readings WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
  GROUP BY machine HAVING MAX(celsius) > AVG(celsius) + 4 * STDDEV_SAMPLE(celsius) EMIT FINAL;
