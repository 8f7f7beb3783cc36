-- Pass through: what reading and writing cost.
CREATE STREAM q0 AS SELECT auction, bidder, price, date_time, extra FROM bid;
