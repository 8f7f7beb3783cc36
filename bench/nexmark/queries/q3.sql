-- Local items: who sells in some states, and what, in one category.
CREATE TABLE q3 AS
  SELECT a.id AS id, p.name AS name, p.city AS city, p.state AS state
  FROM auctions a JOIN people p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
