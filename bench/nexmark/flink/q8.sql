CREATE TABLE q8 (id BIGINT, name STRING, auctions BIGINT) WITH ($rows, 'key.format' = 'json', 'key.fields' = 'id;name', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO q8
  SELECT p.id, p.name, a.auctions FROM (
    SELECT id, name, window_start, window_end
    FROM TABLE(TUMBLE(TABLE timed_person, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY id, name, window_start, window_end) p
  JOIN (
    SELECT seller, COUNT(*) AS auctions, window_start, window_end
    FROM TABLE(TUMBLE(TABLE timed_auction, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY seller, window_start, window_end) a
  ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end;
