-- Errors: how many of each kind those of each plan have met.
CREATE TABLE errors WITH (KEY_FORMAT = 'JSON') AS
  SELECT u.plan AS plan, c.status AS status, COUNT(*) AS errors
  FROM clicks c JOIN users u ON c.user_id = u.id
  WHERE c.status >= 400 GROUP BY u.plan, c.status;
