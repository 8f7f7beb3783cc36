-- Expand: bids with their auction, of one category. A bid may come before its auction.
CREATE STREAM q20 AS
  SELECT b.auction AS auction, b.bidder AS bidder, b.price AS price, b.channel AS channel, b.date_time AS date_time,
    a.item_name AS item_name, a.initial_bid AS initial_bid, a.reserve AS reserve, a.seller AS seller, a.category AS category
  FROM bid b JOIN auction a WITHIN 1 HOUR ON b.auction = a.id
  WHERE a.category = 10;
