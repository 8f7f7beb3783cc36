"""No expression ends a query: generated ones, over rows of generated values, in every place where one may stand.

They go the way of a query's: parsed, analysed, planned, compiled over records, written as records.
``--generated 100000`` makes ten thousand in select lists, and a thousand and more in each other place; the figures are
printed with ``-s``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count as count_up
from itertools import islice
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ksqlpy import functions
from ksqlpy.errors import AnalysisProblem
from ksqlpy.functions import FUNCTIONS
from ksqlpy.local.query import Question, read_question
from ksqlpy.local.sources import Declared
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.output import kafka_output
from ksqlpy.types import BIGINT, INTEGER, STRING, ArrayType, DecimalType, MapType, Scalar, SqlType, StructType
from tests.generated.generated_expressions import COLUMNS, OPERATORS, TEXTS, Generator, Made

pytestmark = pytest.mark.spark

SEED = 20
TOGETHER = 40
"""Expressions in one plan."""
KEYED: dict[str, SqlType] = {"BY_TEXT": STRING, "BY_INT": INTEGER, "BY_LONG": BIGINT}


# ---------------------------------------------------------------- rows


_VALUES: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": (True, False),
    "INTEGER": (0, 1, -1, 2, 3, 7, 100, 2**31 - 1, -(2**31)),
    "BIGINT": (0, 1, -1, 7, 2**63 - 1, -(2**63), 2**31, 1_700_000_000_000),
    "DOUBLE": (0.0, 1.0, -1.5, 1.7976931348623157e308, -5e-324, "NaN", "Infinity", "-Infinity", 1e19),
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


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> Iterator[DataFrame]:
    """What Kafka has: the rows in topic x, and some in the topics of tables."""
    found = [record("x", i, i.to_bytes(4, "big"), row) for i, row in enumerate(rows(24))]
    keys = {"BY_TEXT": b"a", "BY_INT": (1).to_bytes(4, "big"), "BY_LONG": (7).to_bytes(8, "big")}
    found += [record(name.lower(), 0, key, {"V": 1}) for name, key in keys.items()]
    schema = "key binary, value binary, topic string, partition int, offset long, at long"
    made = spark.createDataFrame(found, schema).selectExpr(
        "key", "value", "topic", "partition", "offset", "timestamp_millis(at) AS timestamp"
    )
    # Kept in memory, so that Spark cannot take them for constants.
    made = made.repartition(1).cache()
    assert made.count() == len(found)
    yield made
    made.unpersist()


# ---------------------------------------------------------------- queries


def question(sql: str) -> Question:
    """The SELECT over stream X and the tables; raises AnalysisProblem."""
    declared = Declared()
    declared.take(_DECLARATIONS)
    declared.take(sql, queries=True)
    return read_question(declared)[0]


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
        asked = question(sql)
        made = compile_plan(asked.plan, self.records, Distribution(1, False), name="generated")
        out = kafka_output(asked.plan, made, "generated", "sink", "dead")
        out.write.format("noop").mode("overwrite").save()

    def all(
        self, count: Count, found: Iterator[Made], number: int, together: int, sql: Callable[[list[str]], str]
    ) -> None:
        """Tries so many expressions; ``sql`` makes the query of some of them."""
        batch: list[str] = []
        for made in islice(found, number):
            count.tried += 1
            try:
                question(sql([made.text]))
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
    print(f"\n{count}")
    assert count.tried > count.refused
    assert not count.ended, "\n".join(count.ended)


def check_all(count: Count) -> None:
    """Where enough were tried, each function and operator stood there."""
    check(count)
    if count.tried >= ENOUGH:
        assert not set(EVERYTHING) - count.stood


ENOUGH = 1000
EVERYTHING = (*OPERATORS, *(f.name for f in FUNCTIONS.functions.values() if isinstance(f, functions.Scalar)))


FURTHER = pytest.mark.extended("generated expressions in further places of a query, and further ones")


@pytest.fixture(params=[0, pytest.param(100, marks=FURTHER)], ids=["first half", "second half"])
def more(request: pytest.FixtureRequest) -> int:
    """What is added to the seed: half of the expressions is of another one."""
    added: int = request.param
    return added


@pytest.fixture
def number(generated: Callable[[int], int]) -> int:
    """So many expressions in select lists, and a part of them in each other place: a tenth of what other tests run."""
    return generated(1600) // 10


@pytest.fixture
def some(number: int) -> int:
    """So many in each other place."""
    return number // 8


@pytest.fixture(scope="module")
def bench(records: DataFrame) -> Bench:
    return Bench(records)


def test_select(bench: Bench, number: int, more: int) -> None:
    count = Count("SELECT")
    bench.all(count, Generator(SEED + more).expressions(), number // 2, TOGETHER, selected)
    check_all(count)


def test_where(bench: Bench, some: int, more: int) -> None:
    count = Count("WHERE")
    bench.all(
        count, Generator(SEED + more + 1).predicates(), some // 2, 20,
        lambda x: f"SELECT ID FROM X WHERE {any_of(x)} EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


@FURTHER
def test_where_of_one_condition(bench: Bench, some: int) -> None:
    count, made = Count("WHERE, one condition"), Generator(SEED + 7)
    bench.all(
        count, made.booleans(3), some // 5, 1,
        lambda x: f"SELECT ID FROM X WHERE {x[0]} EMIT CHANGES;",
    )  # fmt: skip
    check(count)


def test_group_by(bench: Bench, some: int, more: int) -> None:
    count, made = Count("GROUP BY"), Generator(SEED + more + 2)
    bench.all(
        count, (x.within("({})") for x in made.expressions()), some // 2, 8,
        lambda x: f"SELECT COUNT(*) FROM X GROUP BY {', '.join(dict.fromkeys(x))} EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


def test_aggregates(bench: Bench, number: int) -> None:
    count = Count("aggregates")
    bench.all(
        count, Generator(SEED + 3).aggregates(), number // 10 + 24, 8,
        lambda x: f"SELECT FLAG, {', '.join(f'{a} AS A{i}' for i, a in enumerate(x))} FROM X GROUP BY FLAG"
        f" HAVING NOT ({x[0]} IS NULL) EMIT CHANGES;",
    )  # fmt: skip
    check(count)


@FURTHER
def test_arguments_of_aggregates(bench: Bench, some: int) -> None:
    count = Count("arguments of aggregates")
    bench.all(
        count, Generator(SEED + 8).expressions(), some, 20,
        lambda x: f"SELECT FLAG, {', '.join(f'LATEST_BY_OFFSET({a}) AS A{i}' for i, a in enumerate(x))} FROM X"
        " GROUP BY FLAG EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


@FURTHER
def test_having(bench: Bench, some: int) -> None:
    count = Count("HAVING")
    of_group = {f"LATEST_BY_OFFSET({n})": t for n, t in COLUMNS.items()}
    bench.all(
        count, Generator(SEED + 9).predicates(of_group), some, 20,
        lambda x: f"SELECT FLAG, COUNT(*) FROM X GROUP BY FLAG HAVING {any_of(x)} EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


@pytest.mark.parametrize("table", KEYED)
def test_on(bench: Bench, some: int, table: str) -> None:
    count, made = Count(f"ON, key of {table}"), Generator(SEED + 4)
    bench.all(
        count, made.keys(KEYED[table]), some // 10, 1,
        lambda x: f"SELECT X.ID, V FROM X LEFT JOIN {table} ON {x[0]} = {table}.ID EMIT CHANGES;",
    )  # fmt: skip
    check(count)


@FURTHER
def test_on_with_all_functions(bench: Bench, some: int) -> None:
    count = Count("ON")
    bench.all(
        count, Generator(SEED + 10).predicates(), some, 20,
        lambda x: "SELECT X.ID, V FROM X LEFT JOIN BY_TEXT"
        f" ON CASE WHEN {any_of(x)} THEN 'a' ELSE S END = BY_TEXT.ID EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


def test_table_functions(bench: Bench, number: int) -> None:
    count = Count("table functions")
    bench.all(
        count, Generator(SEED + 5).tables(), number // 50 + 1, 2,
        lambda x: f"SELECT {', '.join(f'{a} AS A{i}' for i, a in enumerate(x))} FROM X EMIT CHANGES;",
    )  # fmt: skip
    check(count)


@FURTHER
def test_arguments_of_table_functions(bench: Bench, some: int) -> None:
    count = Count("arguments of table functions")
    bench.all(
        count, Generator(SEED + 11).expressions(), some, 20,
        lambda x: f"SELECT {', '.join(f'EXPLODE(ARRAY[{a}]) AS A{i}' for i, a in enumerate(x))} FROM X EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


def test_partition_by(bench: Bench, some: int, more: int) -> None:
    count, made = Count("PARTITION BY"), Generator(SEED + more + 6)
    bench.all(
        count, (x.within("({})") for x in made.expressions()), some // 2, 8,
        lambda x: f"SELECT {', '.join(f'{k} AS K{i}' for i, k in enumerate(dict.fromkeys(x)))}, S FROM X"
        f" PARTITION BY {', '.join(dict.fromkeys(x))} EMIT CHANGES;",
    )  # fmt: skip
    check_all(count)


ITEMS = {n: t.item for n, t in COLUMNS.items() if isinstance(t, ArrayType)}
LAMBDAS = (
    "TRANSFORM({array}, V => {{}})",
    "FILTER({array}, V => TO_JSON_STRING({{}}) = '')",
    "REDUCE({array}, 0, (N_FOUND, V) => CASE WHEN TO_JSON_STRING({{}}) = '' THEN N_FOUND + 1 ELSE N_FOUND END)",
)


def in_lambdas(seed: int) -> Iterator[Made]:
    """Expressions as bodies of lambdas over each array; the parameter stands for all columns of its type."""
    bodies = {
        array: Generator(seed + i).expressions({**{n: t for n, t in COLUMNS.items() if t != item}, "V": item}, ["V"])
        for i, (array, item) in enumerate(ITEMS.items())
    }
    for i in count_up():
        for array, found in bodies.items():
            yield next(found).within(LAMBDAS[i % len(LAMBDAS)].format(array=array))


@FURTHER
def test_lambdas(bench: Bench, some: int) -> None:
    count = Count("lambdas")
    bodies = (made for made in in_lambdas(SEED + 12) if "V" in made.holds)
    bench.all(count, bodies, some * 2, 20, selected)
    check_all(count)


LARGE = {
    "branches": f"CASE {' '.join(f'WHEN I = {i} THEN UCASE(S) + CAST({i} AS STRING)' for i in range(400))} END",
    "items of a list": f"I IN ({', '.join(map(str, range(3000)))})",
    "items of an array": f"ARRAY[{', '.join(f'I + {i}' for i in range(1000))}]",
    "a long sum": " + ".join(["I"] * 190),
    "a chain of divisions": " / ".join(["D"] * 20),
    "calls in each other": f"{'UCASE(' * 90}S{')' * 90}",
    "calls that name an argument often": f"{'ROUND(' * 3}N18{', I)' * 3}",
    "AND in OR": f"{'(' * 20}FLAG{''.join(' AND FLAG)' if i % 2 else ' OR FLAG)' for i in range(20))}",
    "errors in errors": f"{'(' * 10}CAST(S AS INT){' / CAST(T AS INT))' * 10}",
    "casts": f"{'CAST(CAST(' * 10}S{' AS DATE) AS STRING)' * 10}",
}


@pytest.mark.parametrize("what", LARGE)
def test_large_expressions_run(bench: Bench, what: str) -> None:
    bench.run(selected([LARGE[what]]))


def test_many_columns_run(bench: Bench) -> None:
    bench.run(selected([f"SPLIT(LPAD(S, 9, T), '{i}')[{i}]" for i in range(150)]))


def test_what_would_be_too_large_for_spark_is_refused() -> None:
    with pytest.raises(AnalysisProblem) as caught:
        question(selected([f"{'CASE WHEN ' * 40}CAST(S AS INT) = 1{' THEN FLAG ELSE FLAG END' * 40}"]))
    assert caught.value.code == "expression-too-large"
