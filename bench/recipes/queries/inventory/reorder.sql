-- What must be ordered again: stock beside each item's own limit.
CREATE STREAM reorder_moves AS SELECT item, quantity FROM supplies;
INSERT INTO reorder_moves SELECT item, -quantity AS quantity FROM orders;
CREATE TABLE reorder_stock AS SELECT item, SUM(quantity) AS quantity FROM reorder_moves GROUP BY item;
CREATE TABLE reorder AS
  SELECT s.item AS item, i.name AS name, s.quantity AS quantity, i.least AS least
  FROM reorder_stock s JOIN items i ON s.item = i.item WHERE s.quantity < i.least;
