-- Directories: the parts of the address.
CREATE STREAM q22 AS
  SELECT auction, bidder, price, channel, SPLIT(url, '/')[4] AS dir1, SPLIT(url, '/')[5] AS dir2, SPLIT(url, '/')[6] AS dir3
  FROM bid;
