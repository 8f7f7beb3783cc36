"""Rows of generated values, and a bench that runs statements over them, many expressions at a time.

Statements go the way of a query's: parsed, analysed, planned, compiled over records, written as records.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ksqlpy.analysis import analyze_insert_select
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem
from ksqlpy.local.question import read_question
from ksqlpy.local.sources import Declared
from ksqlpy.plan import Plan, build_plan
from ksqlpy.spark.check import check_plan
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.output import kafka_output
from ksqlpy.sql import nodes, parse
from ksqlpy.types import BIGINT, DOUBLE, INTEGER, STRING, ArrayType, DecimalType, MapType, Scalar, SqlType, StructType
from tests.generated.generated_expressions import COLUMNS, TEXTS, Made

SEED = 20
KEYED: dict[str, SqlType] = {"BY_TEXT": STRING, "BY_INT": INTEGER, "BY_LONG": BIGINT, "BY_DOUBLE": DOUBLE}


# ---------------------------------------------------------------- rows


_VALUES: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": (True, False),
    "INTEGER": (0, 1, -1, 2, 3, 7, 100, 2**31 - 1, -(2**31)),
    "BIGINT": (0, 1, -1, 7, 2**63 - 1, -(2**63), 2**31, 1_700_000_000_000),
    "DOUBLE": (0.0, "-0.0", 1.0, -1.5, 1.7976931348623157e308, -5e-324, "NaN", "Infinity", "-Infinity", 1e19),
    "STRING": (*TEXTS, "x" * 3000, "😀" * 500, "a" * 40 + "!"),
    "BYTES": ("", "AA==", "/////w==", "AQIDBAUGBwg=", "gICAgICAgIA="),
    "DATE": (0, -1, 19849, 2**31 - 1, -(2**31), 2932896),
    "TIME": (0, 1, 86_399_999, 43_200_000),
    "TIMESTAMP": (0, 1, -1, 1_714_979_289_123, 9_223_372_036_854_775, -9_223_372_036_854_775, 253_402_300_800_000),
}


def value(kind: SqlType, pick: random.Random, size: int) -> Any:
    """A value as it stands in JSON; ``size``: of the collections."""
    if pick.random() < 0.12:
        return None
    match kind:
        case Scalar(name):
            return pick.choice(_VALUES[name])
        case DecimalType(precision, scale):
            digits = pick.choice(("9" * precision, "0", "1", "5" * precision))
            return Number(f"{pick.choice(('', '-'))}{digits}e-{scale}")
        case ArrayType(item):
            return [value(item, pick, min(size, 3)) for _ in range(size)]
        case MapType(_, item):
            return {pick.choice(("a", "b", "", "😀", str(i))): value(item, pick, min(size, 3)) for i in range(size)}
        case StructType(fields):
            return {n: value(t, pick, min(size, 3)) for n, t in fields}
    raise TypeError(kind)


class Number(str):
    """A number with its digits, for JSON."""


def as_json(x: Any) -> str:
    if isinstance(x, Number):
        return str(x)
    if isinstance(x, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {as_json(v)}" for k, v in x.items()) + "}"
    return "[" + ", ".join(map(as_json, x)) + "]" if isinstance(x, list) else json.dumps(x)


def rows(count: int) -> list[dict[str, Any]]:
    """The first has nulls only, the second empty collections, the third huge ones."""
    pick = random.Random(SEED)
    sizes = [0, 0, 300, *(pick.randint(0, 4) for _ in range(count))]
    found = [{n: value(t, pick, size) for n, t in COLUMNS.items()} for size in sizes]
    return [{}, *found[1:]]


def record(topic: str, offset: int, key: bytes | None, row: dict[str, Any]) -> tuple[Any, ...]:
    return key, as_json(row).encode(), topic, 0, offset, 1_700_000_000_000 + offset


# ---------------------------------------------------------------- queries


def planned(sql: str) -> tuple[Plan, Source | str]:
    """The plan of the SELECT, or INSERT INTO … SELECT, over stream X and the tables, and what it writes.

    Raises AnalysisProblem. Statements ahead of it declare further sources.
    """
    declared = Declared()
    declared.take(_DECLARATIONS)
    *before, last = parse(sql)
    for each in before:
        declared.take(each.text)
    if not isinstance(last.node, nodes.InsertSelect):
        declared.take(sql, queries=True)
        found = read_question(declared)
        check_plan(found.plan)
        return found.plan, "sink"
    insert = analyze_insert_select(last, declared.catalog, declared.config)
    plan = build_plan(insert.query)
    check_plan(plan)
    return plan, insert.source


def _source(kind: str, name: str, key: SqlType, columns: dict[str, SqlType]) -> str:
    main = "PRIMARY KEY" if kind == "TABLE" else "KEY"
    inside = ", ".join([f"ID {key} {main}", *(f"`{n}` {t}" for n, t in columns.items())])
    return f"CREATE {kind} {name} ({inside}) WITH (kafka_topic='{name.lower()}', value_format='JSON', partitions=1);"


_DECLARATIONS = "\n".join(
    [_source("STREAM", "X", INTEGER, COLUMNS), *(_source("TABLE", n, t, {"V": INTEGER}) for n, t in KEYED.items())]
)


@dataclass
class Count:
    """What became of the expressions of one place; ``ended``: those that end a query, with Spark's words."""

    place: str
    tried: int = 0
    refused: int = 0
    ended: list[str] = field(default_factory=list)
    stood: set[str] = field(default_factory=set)
    """Functions, operators and names in those that ran."""

    def __str__(self) -> str:
        ran = self.tried - self.refused
        return f"{self.place}: {ran} expressions ran, {self.refused} refused, {len(self.ended)} ended a query"


class Bench:
    """Runs SELECTs over the records; where one fails, it looks for the items that are to blame."""

    def __init__(self, records: DataFrame) -> None:
        self.records = records

    def run(self, sql: str) -> None:
        """Computes all results; raises PySparkException."""
        plan, sink = planned(sql)
        made = compile_plan(plan, self.records, Distribution(1, False), name="generated")
        out = kafka_output(plan, made, "generated", sink, "dead")
        out.write.format("noop").mode("overwrite").save()

    def all(
        self, count: Count, found: Iterator[Made], number: int, together: int, sql: Callable[[list[str]], str]
    ) -> None:
        """Tries so many expressions; ``sql`` makes the query of some of them."""
        batch: list[str] = []
        for made in islice(found, number):
            count.tried += 1
            try:
                planned(sql([made.text]))
            except AnalysisProblem:
                count.refused += 1
                continue
            count.stood |= made.holds
            batch.append(made.text)
            if len(batch) == together:
                self._some(count, batch, sql)
                batch = []
        if batch:
            self._some(count, batch, sql)

    def _some(self, count: Count, batch: list[str], sql: Callable[[list[str]], str]) -> None:
        try:
            self.run(sql(batch))
        except (Py4JNetworkError, ConnectionError):  # out of memory, say
            pytest.fail("one of these ended the JVM:\n" + "\n".join(batch), pytrace=False)
        except AnalysisProblem as e:  # only together too large
            if e.code != "expression-too-large" or len(batch) == 1:
                raise
            for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                self._some(count, half, sql)
        except PySparkException as e:
            before = len(count.ended)
            if len(batch) > 1:
                for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                    self._some(count, half, sql)
            if len(count.ended) == before:  # only together, if there are several
                expressions = "\n    ".join(batch)
                count.ended.append(f"{expressions}\n      {failure_of(e).message[:300]}")


def selected(items: list[str]) -> str:
    return f"SELECT {', '.join(f'{x} AS C{i}' for i, x in enumerate(items))} FROM X EMIT CHANGES;"


def any_of(items: list[str]) -> str:
    """One condition of several, none of which Spark may skip."""
    return f"ARRAY_CONTAINS(ARRAY[{', '.join(f'({x})' for x in items)}], TRUE)"


def check(count: Count) -> None:
    """Some ran, and none ended a query."""
    print(f"\n{count}")
    assert count.tried > count.refused
    assert not count.ended, "\n".join(count.ended)
