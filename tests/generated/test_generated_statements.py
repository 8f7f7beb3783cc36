"""No statement ends a query, whatever its parts are: several table functions, conditions, new keys, types of a sink.

``--generated 100000`` makes a thousand and more of each kind; the figures are printed with ``-s``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count as count_up

import pytest

from ksqlpy.types import BOOLEAN
from tests.generated.generated_expressions import Generator, Made
from tests.generated.running import SEED, Bench, Count, check

pytestmark = pytest.mark.spark

FURTHER = pytest.mark.extended("generated statements of further kinds")


@pytest.fixture
def some(generated: Callable[[int], int]) -> int:
    """So many of each kind."""
    return generated(1600) // 80


def columns(items: list[str]) -> str:
    return ", ".join(f"{x} AS C{i}" for i, x in enumerate(items))


# ---------------------------------------------------------------- table functions


def beside_each_other(seed: int) -> Iterator[Made]:
    """Two to four calls of table functions, some as arguments of a function, and other expressions between them."""
    made = Generator(seed)
    tables, others = made.tables(), made.expressions()
    around = ("{}", "TO_JSON_STRING({})", "COALESCE(CAST({} AS STRING), 'none')", "({} IS NULL)")
    for number in count_up():
        calls = [next(tables).within(around[(number + i) % len(around)]) for i in range(2 + number % 3)]
        parts = [calls[0], next(others), *calls[1:]]
        yield Made(columns([x.text for x in parts]), frozenset().union(*(x.holds for x in parts)))


def test_several_table_functions(bench: Bench, some: int) -> None:
    count = Count("several table functions")
    bench.all(count, beside_each_other(SEED + 20), some, 1, lambda x: f"SELECT {x[0]} FROM X EMIT CHANGES;")
    check(count)


# ---------------------------------------------------------------- clauses together


def clauses(seed: int) -> Iterator[Made]:
    """A SELECT with a condition, with a table function or new keys, and with expressions of them in its list."""
    made = Generator(seed)
    items, tables, conditions = made.expressions(), made.tables(), made.booleans(2)
    for number in count_up():
        listed, key = [next(items) for _ in range(3)], next(items).within("({})")
        parts = [*listed, next(conditions)]
        where = f" WHERE {parts[-1].text}" if number % 4 else ""
        if number % 2:
            parts.append(next(tables))
            text = f"SELECT ID, {columns([x.text for x in listed])}, {parts[-1].text} AS T FROM X{where}"
        else:
            parts.append(key)
            text = f"SELECT {key.text} AS K, {columns([x.text for x in listed])} FROM X{where} PARTITION BY {key.text}"
        yield Made(text, frozenset().union(*(x.holds for x in parts)))


@FURTHER
def test_clauses_together(bench: Bench, some: int) -> None:
    count = Count("clauses together")
    bench.all(count, clauses(SEED + 21), some // 2, 1, lambda x: f"{x[0]} EMIT CHANGES;")
    check(count)


# ---------------------------------------------------------------- INSERT INTO … SELECT


def into(format_: str) -> Callable[[list[str]], str]:
    """The INSERT of expressions, each behind the type of its column in the stream."""

    def sql(items: list[str]) -> str:
        parts = [item.split("\t", 1) for item in items]
        declared = ", ".join(f"C{i} {kind}" for i, (kind, _) in enumerate(parts))
        return (
            f"CREATE STREAM O (ID BIGINT KEY, {declared}) WITH (kafka_topic='o', value_format='{format_}');\n"
            f"INSERT INTO O SELECT ID, {columns([x for _, x in parts])} FROM X;"
        )

    return sql


@pytest.mark.parametrize("format_", ["JSON", "PROTOBUF_NOSR", pytest.param("DELIMITED", marks=FURTHER)])
def test_insert_into_other_types(bench: Bench, some: int, format_: str) -> None:
    count = Count(f"INSERT INTO … SELECT, {format_}")
    made = (x.within(f"{kind}\t{{}}") for kind, x in Generator(SEED + 22).for_columns())
    bench.all(count, made, some * 2, 20, into(format_))
    check(count)


def test_conditions_with_an_error_in_each_part(bench: Bench, some: int) -> None:
    count, made = Count("errors in conditions"), Generator(SEED + 23)
    bench.all(
        count, (x.within("CAST({} AS STRING) = 'true'") for x in made.keys(BOOLEAN)), some, 5,
        lambda x: f"SELECT ID FROM X WHERE {' AND '.join(x)} OR {' OR '.join(x)} EMIT CHANGES;",
    )  # fmt: skip
    check(count)
