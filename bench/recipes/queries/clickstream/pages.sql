-- Pages: views of each minute, and how large they were.
CREATE TABLE pages AS
  SELECT page, COUNT(*) AS views, AVG(bytes) AS mean
  FROM clicks WINDOW TUMBLING (SIZE 1 MINUTE) WHERE status = 200 GROUP BY page;
