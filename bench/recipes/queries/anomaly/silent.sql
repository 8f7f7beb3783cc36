-- Silent machines: no reading for fifteen seconds, and how long there had been some.
CREATE TABLE silent AS
  SELECT machine, COUNT(*) AS readings
  FROM arrivals WINDOW SESSION (15 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY machine EMIT FINAL;
