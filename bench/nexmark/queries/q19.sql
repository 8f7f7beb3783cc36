-- Top ten: the highest bids on each auction.
CREATE TABLE q19 AS SELECT auction, TOPK(price, bidder, 10) AS top FROM bid GROUP BY auction;
