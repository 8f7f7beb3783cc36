-- Shortages: stock below one limit for all; what is there again leaves the table.
CREATE STREAM shortages_moves AS SELECT item, quantity FROM supplies;
INSERT INTO shortages_moves SELECT item, -quantity AS quantity FROM orders;
CREATE TABLE shortages AS SELECT item, SUM(quantity) AS quantity FROM shortages_moves GROUP BY item HAVING SUM(quantity) < 30;
