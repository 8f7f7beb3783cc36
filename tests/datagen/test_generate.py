"""Invented rows: every type, keys from a limited set, times that increase, nulls, seeds."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import islice

import pytest

from ksqlpy.catalog import Source
from ksqlpy.datagen import Generator, GeneratorSettings
from ksqlpy.errors import ConfigProblem
from ksqlpy.local.convert import convert
from ksqlpy.local.rows import Row

ALL = (
    "id BIGINT KEY, b BOOLEAN, i INT, g BIGINT, d DOUBLE, m DECIMAL(3, 2), huge DECIMAL(38, 10), s STRING, raw BYTES,"
    " day DATE, clock TIME, ts TIMESTAMP, lists ARRAY<ARRAY<INT>>, attributes MAP<STRING, DECIMAL(5, 1)>,"
    " home STRUCT<city STRING, pos STRUCT<lat DOUBLE, lon DOUBLE>>"
)

Declare = Callable[..., Source]


def rows(source: Source, count: int, **settings: object) -> list[Row]:
    made = GeneratorSettings(**settings)  # type: ignore[arg-type]  # of any type, as each test needs them
    return list(islice(Generator(source, made).rows(), count))


def test_every_type_has_values_that_fit(declare: Declare) -> None:
    source = declare(ALL)
    kinds = {
        "B": bool,
        "I": int,
        "D": float,
        "M": Decimal,
        "S": str,
        "RAW": bytes,
        "DAY": date,
        "CLOCK": time,
        "TS": datetime,
    }
    for row in rows(source, 200, seed=3):
        assert set(row.columns) == {c.name for c in source.columns}
        for column in source.columns:
            value = row.columns[column.name]
            assert value is not None
            assert convert(value, column.type) == value, column
        for name, kind in kinds.items():
            assert isinstance(row.columns[name], kind)


def test_the_same_seed_gives_the_same_rows(declare: Declare) -> None:
    source = declare(ALL)
    assert rows(source, 50, seed=7, nulls=0.2) == rows(source, 50, seed=7, nulls=0.2)
    assert rows(source, 50, seed=7) != rows(source, 50, seed=8)
    assert rows(source, 1, seed=7)[0].time == 1767225600000


def test_keys_are_from_a_limited_set(declare: Declare) -> None:
    found = rows(declare("user_id STRING KEY, n INT"), 1000, seed=1, keys=5)
    assert {r.columns["USER_ID"] for r in found} == {f"user_{n}" for n in range(1, 6)}
    found = rows(declare("k STRUCT<a INT, b STRING> PRIMARY KEY, n INT", ", key_format='JSON'"), 200, seed=1, keys=3)
    assert len({repr(r.columns["K"]) for r in found}) == 3


def test_ids_of_other_streams_are_among_their_keys(declare: Declare) -> None:
    found = rows(declare("order_id INT KEY, user_id STRING, vendorid INT, paid INT"), 300, seed=1, keys=4)
    assert {r.columns["USER_ID"] for r in found} == {"user_1", "user_2", "user_3", "user_4"}
    assert {r.columns["VENDORID"] for r in found} == {1, 2, 3, 4}
    assert len({r.columns["PAID"] for r in found}) > 4


def test_nulls_are_as_frequent_as_wished_and_never_in_keys(declare: Declare) -> None:
    source = declare("k INT KEY, a INT, b STRING, ts TIMESTAMP", ", timestamp='ts'")
    found = rows(source, 2000, seed=1, nulls=0.25)
    assert all(r.columns["K"] is not None and r.columns["TS"] is not None for r in found)
    for name in ("A", "B"):
        assert 400 < sum(r.columns[name] is None for r in found) < 600
    assert all(v is not None for r in rows(source, 300, seed=1) for v in r.columns.values())


@pytest.mark.parametrize(
    ("column", "more", "first", "second"),
    [
        ("t TIMESTAMP", "", datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 1, 0, 0, 0, 250_000, tzinfo=UTC)),
        ("t BIGINT", "", 1777593600000, 1777593600250),
        (
            "t STRING",
            ", timestamp_format='yyyy-MM-dd''T''HH:mm:ss.SSSX'",
            "2026-05-01T00:00:00.000Z",
            "2026-05-01T00:00:00.250Z",
        ),
        ("t STRING", ", timestamp_format='dd MMM yy HH:mm:ss'", "01 May 26 00:00:00", "01 May 26 00:00:00"),
    ],
)
def test_the_time_column_increases(declare: Declare, column: str, more: str, first: object, second: object) -> None:
    source = declare(f"k INT KEY, {column}", f", timestamp='t'{more}")
    one, two = rows(source, 2, start=datetime(2026, 5, 1, tzinfo=UTC), step_ms=250)
    assert (one.columns["T"], two.columns["T"]) == (first, second)
    assert (one.time, two.time) == (1777593600000, 1777593600250)


def test_a_pattern_that_cannot_be_written(declare: Declare) -> None:
    source = declare("t STRING", ", timestamp='t', timestamp_format='EEE d MMM yyyy'")
    with pytest.raises(ConfigProblem, match="the letter E"):
        Generator(source, GeneratorSettings())


@pytest.mark.parametrize(
    ("column", "pattern"),
    [
        ("email STRING", r"[a-z]+\.[a-z]+\d+@example\.com"),
        ("`deviceUuid` STRING", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}(-[0-9a-f]{4,12}){2}"),
        ("client_ip STRING", r"10\.\d+\.\d+\.\d+"),
        ("page_url STRING", r"https://example\.com/\w*"),
        ("latitude DOUBLE", r"-?\d{1,2}\.\d+"),
        ("age INT", r"[1-9]\d"),
        ("status_code INT", r"[2-5]\d\d"),
        ("created_at STRING", r"2026-01-01T00:0\d:\d\d\.000Z"),
    ],
)
def test_values_are_what_names_say(declare: Declare, column: str, pattern: str) -> None:
    for row in rows(declare(column), 60, seed=5):
        [value] = row.columns.values()
        assert re.fullmatch(pattern, str(value))
