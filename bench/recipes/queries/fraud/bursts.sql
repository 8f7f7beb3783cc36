-- Many payments of an account within ten seconds.
CREATE TABLE bursts AS
  SELECT account, COUNT(*) AS payments, SUM(amount) AS amount
  FROM payments WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS)
  GROUP BY account HAVING COUNT(*) >= 5;
