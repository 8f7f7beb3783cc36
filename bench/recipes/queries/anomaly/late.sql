-- Late readings: more than five seconds on their way.
CREATE STREAM late AS SELECT machine, measured, ROWTIME - measured AS late_by FROM arrivals WHERE ROWTIME - measured > 5000;
