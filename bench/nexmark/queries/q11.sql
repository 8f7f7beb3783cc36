-- User sessions: how many bids a user makes until a pause of ten seconds.
CREATE TABLE q11 AS SELECT bidder, COUNT(*) AS bids FROM bid WINDOW SESSION (10 SECONDS) GROUP BY bidder;
