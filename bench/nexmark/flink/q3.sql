-- Each row of both comes once, so they are streams, as in the specification.
CREATE TABLE q3 (id BIGINT, name STRING, city STRING, state STRING) WITH ($rows, 'key.format' = 'raw', 'key.fields' = 'id', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO q3
  SELECT a.id, p.name, p.city, p.state FROM auction a JOIN person p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
