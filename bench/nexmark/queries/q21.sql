-- Channel: its number by its name, or out of the address.
CREATE STREAM q21 AS
  SELECT auction, bidder, price, channel,
    CASE
      WHEN LCASE(channel) = 'apple' THEN '0' WHEN LCASE(channel) = 'google' THEN '1'
      WHEN LCASE(channel) = 'facebook' THEN '2' WHEN LCASE(channel) = 'baidu' THEN '3'
      ELSE REGEXP_EXTRACT('(&|^)channel_id=([^&]*)', url, 2)
    END AS channel_id
  FROM bid
  WHERE REGEXP_EXTRACT('(&|^)channel_id=([^&]*)', url, 2) IS NOT NULL OR LCASE(channel) IN ('apple', 'google', 'facebook', 'baidu');
