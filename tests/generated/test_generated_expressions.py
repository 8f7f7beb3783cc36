"""No expression ends a query: generated ones, over rows of generated values, in every place where one may stand.

They go the way of a query's: parsed, analysed, planned, compiled over records, written as records.
``--generated 100000`` makes ten thousand in select lists, and a thousand and more in each other place; the figures are
printed with ``-s``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as count_up

import pytest

from ksqlpy import functions
from ksqlpy.errors import AnalysisProblem
from ksqlpy.functions import FUNCTIONS
from ksqlpy.types import ArrayType
from tests.generated.generated_expressions import COLUMNS, OPERATORS, Generator, Made
from tests.generated.running import KEYED, SEED, Bench, Count, any_of, check, planned, selected

pytestmark = pytest.mark.spark

TOGETHER = 40
"""Expressions in one plan."""


def check_all(count: Count, but: str = "") -> None:
    """Where enough were tried, each function and operator stood there; ``but`` one that seldom does."""
    check(count)
    if count.tried >= ENOUGH:
        assert set(EVERYTHING) - count.stood <= {but}


ENOUGH = 1000
EVERYTHING = (*OPERATORS, *(f.name for f in FUNCTIONS.functions.values() if isinstance(f, functions.Scalar)))


FURTHER = pytest.mark.extended("generated expressions in further places of a query, and further ones")


@pytest.fixture(params=[0, pytest.param(100, marks=FURTHER)], ids=["first half", "second half"])
def more(request: pytest.FixtureRequest) -> int:
    """What is added to the seed: half of the expressions is of another one."""
    added: int = request.param
    return added


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


@FURTHER
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


@FURTHER
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
    check_all(count, but="RANDOM")  # it takes no parameter


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


@FURTHER
@pytest.mark.parametrize("what", LARGE)
def test_large_expressions_run(bench: Bench, what: str) -> None:
    bench.run(selected([LARGE[what]]))


def test_many_columns_run(bench: Bench) -> None:
    bench.run(selected([f"SPLIT(LPAD(S, 9, T), '{i}')[{i}]" for i in range(150)]))


def test_what_would_be_too_large_for_spark_is_refused() -> None:
    with pytest.raises(AnalysisProblem) as caught:
        planned(selected([f"{'CASE WHEN ' * 40}CAST(S AS INT) = 1{' THEN FLAG ELSE FLAG END' * 40}"]))
    assert caught.value.code == "expression-too-large"


def test_what_is_only_together_too_large_is_refused() -> None:
    large = f"{'CASE WHEN ' * 9}CAST(S AS INT) = 1{' THEN FLAG ELSE FLAG END' * 9}"
    planned(selected([large]))
    with pytest.raises(AnalysisProblem, match="together") as caught:
        planned(selected([large] * 20))
    assert caught.value.code == "expression-too-large"
