-- As ../queries/q8.sql, with the result of each window once.
CREATE STREAM q8_new AS
  SELECT p.id AS id, p.name AS name
  FROM person p JOIN auction a WITHIN 10 SECONDS GRACE PERIOD 1 SECOND ON p.id = a.seller
  WHERE p.ROWTIME / 10000 = a.ROWTIME / 10000;
CREATE TABLE q8 WITH (KEY_FORMAT = 'JSON') AS
  SELECT id, name, COUNT(*) AS auctions FROM q8_new WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id, name EMIT FINAL;
