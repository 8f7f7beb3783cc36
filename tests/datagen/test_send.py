"""Rows become records of the source's formats, without Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from ksqlpy.catalog import Source
from ksqlpy.datagen import Pacer, send_rows
from ksqlpy.errors import EngineProblem
from ksqlpy.local.rows import Row

COLUMNS = (
    "k INT KEY, d DECIMAL(6, 3), x DOUBLE, t TIME, day DATE, m TIMESTAMP, y BYTES, a ARRAY<DATE>,"
    " s STRUCT<n DECIMAL(4, 2)>"
)
ROW = Row(
    {
        "K": 7,
        "D": Decimal("1.5"),
        "X": 1,
        "T": time(0, 0, 1),
        "DAY": date(1970, 1, 3),
        "M": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC),
        "Y": b"\x00\xff",
        "A": [date(1970, 1, 2), None],
        "S": {"N": Decimal(5)},
    },
    1234,
)


class Out:
    """A producer that keeps what it is given; ``fails``: of every record it is told that it was not written."""

    def __init__(self, fails: bool = False) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.fails = fails

    def produce(self, topic: str, *, key: Any, value: Any, timestamp: int, on_delivery: Callable[..., None]) -> None:
        self.sent.append((topic, key, value, timestamp))
        on_delivery("no room" if self.fails else None, None)

    def poll(self, seconds: float) -> int:
        return 0

    def flush(self, seconds: float) -> int:
        return 0


def sent(source: Source, *rows: Row) -> list[tuple[Any, ...]]:
    out: Any = Out()
    send_rows(rows, source, Pacer(None), out)
    found: list[tuple[Any, ...]] = out.sent
    return found


def test_json(declare: Callable[..., Source]) -> None:
    [(topic, key, value, at), (_, none, nulls, now)] = sent(declare(COLUMNS), ROW, Row({}))
    assert (topic, key, at) == ("s", b"\0\0\0\7", 1234)
    assert value == (
        b'{"D":1.500,"X":1.0,"T":1000,"DAY":2,"M":2000,"Y":"AP8=","A":[1,null],"S":{"N":5.00}}'
    )  # fmt: skip
    names = ["D", "X", "T", "DAY", "M", "Y", "A", "S"]
    assert nulls == b"{" + ",".join(f'"{n}":null' for n in names).encode() + b"}"
    assert (none, now) == (None, 0)


def test_what_was_not_written_is_told(declare: Callable[..., Source]) -> None:
    out: Any = Out(fails=True)
    with pytest.raises(EngineProblem, match="no room"):
        send_rows([ROW], declare(COLUMNS), Pacer(None), out)


def test_no_spark_is_needed() -> None:
    program = "import sys, ksqlpy.datagen, ksqlpy.commands.datagen; print(*{'pyspark', 'py4j'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""
