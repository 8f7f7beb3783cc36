"""Tests of a user, in memory; those whose names end with ``fails`` show how failures look."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from ksqlpy.errors import KsqlError

RIDES = """
CREATE STREAM rides (zone STRING, fare DECIMAL(6, 2)) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
COUNTED = "CREATE TABLE n AS SELECT zone, COUNT(*) AS n, SUM(fare) AS fares FROM rides GROUP BY zone;"


def test_counts(ksql):
    ksql.sql(RIDES)
    ksql.given("rides", [{"zone": "Queens", "fare": "1.50"}, {"ZONE": "Bronx"}, {"zone": "Queens", "fare": 2}])
    ksql.when(COUNTED)
    ksql.then("n", [{"zone": "Queens", "n": 1}, {"zone": "Bronx", "n": 1}, {"zone": "Queens", "n": 2}])
    assert ksql.rows("N")[-1] == {"ZONE": "Queens", "N": 2, "FARES": Decimal("3.50")}


def test_each_look_shows_what_is_new(ksql):
    ksql.sql(RIDES + COUNTED)
    ksql.then("n", [])
    ksql.given("rides", [{"zone": "Queens"}]).then("n", [{"zone": "Queens", "n": 1}])
    ksql.given("rides", [{"zone": "Queens"}]).then("n", [{"zone": "Queens", "n": 2}]).then("n", [])


def test_begins_with_nothing(ksql):
    with pytest.raises(KsqlError, match="there is no stream or table n"):
        ksql.rows("n")


def test_one_query_behind_the_other(ksql):
    ksql.sql(RIDES + COUNTED + "CREATE TABLE many AS SELECT zone, n FROM n WHERE n > 1;")
    ksql.given("rides", [{"zone": "Queens"}] * 2)
    ksql.then("many", [{"zone": "Queens", "n": 2}])


def test_windows_by_time(ksql):
    ksql.sql(RIDES)
    ksql.when("CREATE TABLE w AS SELECT zone, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY zone;")
    start = datetime(2024, 5, 6, tzinfo=UTC)
    ksql.given(
        "rides",
        [{"zone": "a", "ROWTIME": start}, {"zone": "a"}, {"zone": "a", "rowtime": start + timedelta(minutes=1)}],
    )
    ksql.then(
        "w",
        [
            {"zone": "a", "WINDOWSTART": start, "n": 1},
            {"zone": "a", "WINDOWSTART": start, "n": 2},
            {"zone": "a", "WINDOWSTART": start + timedelta(minutes=1), "n": 1},
        ],
    )


def test_rows_of_tables_are_deleted(ksql):
    ksql.sql(
        "CREATE TABLE zones (id INT PRIMARY KEY, name STRING)"
        " WITH (KAFKA_TOPIC='zones', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    ksql.when("CREATE TABLE up AS SELECT id, UCASE(name) AS name FROM zones;")
    ksql.given("zones", [{"id": 1, "name": "a"}, ksql.deleted(id=1)])
    ksql.then("up", [{"id": 1, "name": "A"}, ksql.deleted(id=1)])
    assert ksql.rows("up") == [{"ID": 1, "NAME": "A"}, ksql.deleted(ID=1)]


def test_values_of_all_kinds(ksql):
    ksql.sql(
        "CREATE STREAM s (k INT KEY, b BYTES, d DATE, t TIME, ts TIMESTAMP, l ARRAY<DECIMAL(4, 2)>,"
        " m MAP<STRING, BIGINT>, p STRUCT<x DOUBLE, day DATE>)"
        " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
        " CREATE STREAM c AS SELECT * FROM s;"
    )
    row = {
        "k": 1, "b": b"\x00\xff", "d": date(2024, 5, 6), "t": "07:08", "ts": datetime(2024, 5, 6, tzinfo=UTC),
        "l": [Decimal("1.50"), None], "m": {"a": 7}, "p": {"x": 0.5, "day": date(2024, 5, 6)},
    }  # fmt: skip
    ksql.given("s", [row, {"k": None}]).then("c", [row, {"k": None}])


def test_variables(ksql):
    ksql.sql(
        "CREATE STREAM ${name} (a INT) WITH (KAFKA_TOPIC='${name}', VALUE_FORMAT='JSON', PARTITIONS=${n});",
        name="s",
        n=1,
    )
    ksql.given("s", [{"a": 1}]).then("s", [{"a": 1}])


def test_dead_letters(ksql):
    ksql.sql("CREATE STREAM s (a STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='KAFKA', PARTITIONS=1);")
    ksql.sql("CREATE STREAM j (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');")
    ksql.when("CREATE STREAM c AS SELECT a + 1 AS a FROM j;")
    ksql.given("s", [{"a": '{"a": 1}'}, {"a": "nonsense"}]).then("c", [{"a": 2}])
    [letter] = ksql.dead_letters
    assert letter.startswith("t 1: ")


def test_inserted_by_a_statement(ksql):
    ksql.when(RIDES + COUNTED + "INSERT INTO rides VALUES ('Queens', 1.5);").then("n", [{"n": 1, "fares": 1.5}])


def test_other_rows_fails(ksql):
    ksql.sql(RIDES + COUNTED)
    ksql.given("rides", [{"zone": "Queens"}, {"zone": "Bronx"}])
    ksql.then("n", [{"zone": "Queens", "n": 1}, {"zone": "Bronx", "n": 2}, {"zone": "Bronx", "n": 3}])


def test_another_type_fails(ksql):
    ksql.sql(RIDES)
    ksql.given("rides", [{"zone": "1"}]).then("rides", [{"zone": 1}])


def test_wrong_name_fails(ksql):
    ksql.sql(RIDES)
    ksql.given("rides", [{"zome": "Queens"}])


def test_refused_fails(ksql):
    ksql.when("CREATE STREAM c AS SELECT * FROM nowhere;")
