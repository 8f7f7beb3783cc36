-- Visits: what a user does until a pause of half a minute, from which page to which.
CREATE TABLE sessions AS
  SELECT user_id, COUNT(*) AS clicks, SUM(bytes) AS bytes, EARLIEST_BY_OFFSET(page) AS entry, LATEST_BY_OFFSET(page) AS last
  FROM clicks WINDOW SESSION (30 SECONDS) GROUP BY user_id;
