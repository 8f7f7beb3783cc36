-- Average price of a category: of the highest bids while auctions were open.
CREATE TABLE q4_highest WITH (KEY_FORMAT = 'JSON') AS
  SELECT a.id AS id, a.category AS category, MAX(b.price) AS price
  FROM bid b JOIN auctions a ON b.auction = a.id
  WHERE b.date_time >= a.date_time AND b.date_time <= a.expires
  GROUP BY a.id, a.category;
CREATE TABLE q4 AS SELECT category, AVG(price) AS price FROM q4_highest GROUP BY category;
