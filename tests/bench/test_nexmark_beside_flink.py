"""`python -m bench nexmark --peers`: its programs, how many results are due, and how Flink's are read."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from bench.nexmark import beside
from bench.nexmark.beside import (
    COMPARED,
    FINAL,
    KSQLPY,
    LEFT_OUT,
    backlog_of,
    beside_flink,
    due_of,
    rows_of,
    statements,
)
from bench.nexmark.run import QUERIES

BACKLOG = backlog_of(25_000, seed=3)


def test_each_query_is_compared_or_there_is_a_reason() -> None:
    assert sorted([*COMPARED, *LEFT_OUT]) == sorted(QUERIES)
    folder = Path(beside.__file__).parent
    assert {file.stem for file in (folder / "flink").glob("*.sql")} == {"setup", *COMPARED}
    assert {file.stem for file in (folder / "final").glob("*.sql")} == {*FINAL}


@pytest.mark.parametrize("name", COMPARED)
def test_a_program_of_flink_writes_the_columns_of_the_answer(name: str) -> None:
    *sources, sink, insert = statements(name, "h:1", "o")
    assert [text.split()[:2] for text in (*sources, sink)] == [["CREATE", "TABLE"]] * 8
    assert insert.startswith(f"INSERT INTO {name}")
    assert "'topic' = 'o'" in sink and "$" not in sink and all("$" not in text for text in sources)
    assert "'at-least-once'" in sink and "'properties.linger.ms' = '100'" in sink
    columns = re.findall(r"\w+ (?:BIGINT|STRING|DOUBLE|DECIMAL)\b", sink)
    assert len(columns) == len(due_of(name, BACKLOG)[0][0])


def test_the_last_event_closes_all_windows_of_the_others() -> None:
    *_, before, _side, _person, _auction, last = BACKLOG
    assert last.time % 10_000 == 0 and last.time - before.time > 80_000_000
    assert len(due_of("q7", BACKLOG)[0]) == 3  # 25 s
    sessions, due = due_of("q11", BACKLOG)
    assert due == len(sessions) and sum(n for _, n in sessions) == 23_000


@pytest.mark.parametrize(("name", "due"), [("q0", 23_001), ("q15", 23_001), ("q18", 23_001)])
def test_how_many_results_are_due(name: str, due: int) -> None:
    assert due_of(name, BACKLOG)[1] == due


def test_rows_of_flink_are_read() -> None:
    rows = "CREATE TABLE q (k BIGINT, price DECIMAL(23, 3), v STRING) WITH ('key.format' = 'raw', 'key.fields' = 'k')"
    key = (7).to_bytes(8, "big")
    records = [(key, b'{"price":1.50,"v":"a"}'), (key, b'{"price":2,"v":"b"}')]
    assert rows_of(rows, records) == [(7, Decimal("1.50"), "a"), (7, 2, "b")]
    assert rows_of("CREATE TABLE q (a BIGINT) WITH ()", [(None, b'{"a":1}'), (None, b'{"a":1}')]) == [(1,), (1,)]


def test_of_a_table_of_flink_the_last_row_of_each_key_is_read() -> None:
    table = "CREATE TABLE q (day STRING, k BIGINT, n BIGINT, PRIMARY KEY (day, k) NOT ENFORCED) WITH ()"
    records = [
        (b'{"day":"d","k":1}', b'{"n":1}'),
        (b'{"day":"d","k":2}', b'{"n":1}'),
        (b'{"day":"d","k":1}', b'{"n":2}'),
    ]
    assert rows_of(table, records) == [("d", 1, 2), ("d", 2, 1)]
    table = "CREATE TABLE q (day STRING, n BIGINT, PRIMARY KEY (day) NOT ENFORCED) WITH ('key.format' = 'raw')"
    assert rows_of(table, [(b"d", b'{"n":1}'), (b"d", b'{"n":2}')]) == [("d", 2)]


@pytest.mark.extended("queries of NEXMark whose results are counted")
@pytest.mark.spark
@pytest.mark.kafka
def test_ksqlpy_has_as_many_results_as_are_due() -> None:
    lines = [*beside_flink(20_000, [*LEFT_OUT, *COMPARED], 1, who=[KSQLPY])]
    assert [line for line in lines if "left out" in line] == [f"{q}: left out: {why}" for q, why in LEFT_OUT.items()]
    exact = [line.partition(",")[0] for line in lines if line.endswith("is exact")]
    assert exact == [*COMPARED], "\n".join(lines)
