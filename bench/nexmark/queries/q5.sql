-- Hot items: the auctions with the most bids in ten seconds, every two seconds; final results.
CREATE TABLE q5_counts AS
  SELECT auction, AS_VALUE(auction) AS item, WINDOWSTART AS start, COUNT(*) AS bids
  FROM bid WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY auction EMIT FINAL;
CREATE STREAM q5_final (item BIGINT, start BIGINT, bids BIGINT) WITH (KAFKA_TOPIC = 'Q5_COUNTS', VALUE_FORMAT = 'JSON');
CREATE TABLE q5_top AS SELECT start, TOPK(bids, item, 100) AS top FROM q5_final GROUP BY start;
CREATE TABLE q5 AS
  SELECT start, TRANSFORM(FILTER(top, x => x->`sort_col` = top[1]->`sort_col`), x => x->`col0`) AS auctions, top[1]->`sort_col` AS bids
  FROM q5_top;
