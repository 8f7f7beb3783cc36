-- Stock: what has come in less what has gone out.
CREATE STREAM stock_moves AS SELECT item, quantity FROM supplies;
INSERT INTO stock_moves SELECT item, -quantity AS quantity FROM orders;
CREATE TABLE stock AS SELECT item, SUM(quantity) AS quantity FROM stock_moves GROUP BY item;
