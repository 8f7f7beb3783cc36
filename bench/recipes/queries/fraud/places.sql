-- Two payments of one account in different places within five minutes.
CREATE STREAM places AS
  SELECT a.account AS account, a.id AS id, b.id AS next_id, a.place AS place, b.place AS next_place
  FROM payments a JOIN payments_again b WITHIN (0 SECONDS, 5 MINUTES) GRACE PERIOD 1 MINUTE ON a.account = b.account
  WHERE a.place <> b.place;
