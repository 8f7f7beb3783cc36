"""Tests of a user on Kafka."""

RIDES = "CREATE STREAM rides (zone STRING) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
COUNTED = "CREATE TABLE n AS SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone;"


def test_counts(ksql_kafka, ksql_engine):
    ksql_kafka.sql(RIDES).clear()
    ksql_kafka.given("rides", [{"zone": "Queens"}, {"zone": "Queens"}]).when(COUNTED)
    ksql_kafka.then("n", [{"zone": "Queens", "n": 1}, {"zone": "Queens", "n": 2}])
    ksql_kafka.given("rides", [{"zone": "Queens"}]).then("n", [{"zone": "Queens", "n": 3}])
    assert ksql_engine.table("n")["Queens"].n == 3


def test_begins_with_nothing(ksql_kafka):
    ksql_kafka.sql(RIDES.replace("=1)", "=3)") + "CREATE STREAM u AS SELECT UCASE(zone) AS zone FROM rides;")
    ksql_kafka.given("rides", [{"zone": z} for z in "abc"])
    assert sorted(row["ZONE"] for row in ksql_kafka.rows("u")) == ["A", "B", "C"]


def test_both_in_one_process(ksql, ksql_kafka):
    for one in (ksql, ksql_kafka):
        one.sql(RIDES + COUNTED)
        one.given("rides", [{"zone": "Queens"}]).then("n", [{"zone": "Queens", "n": 1}])
