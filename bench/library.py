"""The library in a program: import, first result, lookups, rows of push queries, Arrow, subscriptions, test fixtures.

Each part is a program of its own, as a user's is.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ksqlpy
from ksqlpy.server.run import ServerThread
from ksqlpy.session.rows import Row
from ksqlpy.session.session import Session

__all__ = ["library"]

_ROOT = Path(__file__).parents[1]
_KEYS = 10_000
_WAIT = 300.0

_FIRST = """
import time
begin = time.perf_counter()
import ksqlpy
with ksqlpy.Engine() as engine:
    engine.properties["auto.offset.reset"] = "earliest"
    engine.sql("CREATE STREAM rides (id INT KEY, n INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);")
    engine.insert("rides", [{"id": 1, "n": 2}])
    with engine.query("SELECT id, n FROM rides EMIT CHANGES") as rides:
        assert rides.fetchone() == (1, 2)
    print(time.perf_counter() - begin)
"""

_TESTS = """
import pytest

@pytest.mark.parametrize("n", range({count}))
def test_counts(ksql, n):
    ksql.sql("CREATE STREAM rides (zone STRING) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);")
    ksql.given("rides", [{{"zone": "Queens"}}] * 2)
    ksql.when("{query}")
    ksql.then("n", [{wanted}])
"""
_QUERIES = {
    "a filter": (
        "CREATE STREAM n AS SELECT zone FROM rides WHERE zone = 'Queens';",
        "{'zone': 'Queens'}, {'zone': 'Queens'}",
    ),
    "an aggregate": (
        "CREATE TABLE n AS SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone;",
        "{'zone': 'Queens', 'n': 1}, {'zone': 'Queens', 'n': 2}",
    ),
}


def library(rows: int, rounds: int) -> Iterator[str]:
    """All figures, in lines; ``rows``: of push queries and of Arrow."""
    yield _imported(rounds)
    yield _first(rounds)
    with ksqlpy.Engine(config={"ksqlpy.warm.up": "false"}) as engine:
        engine.properties["auto.offset.reset"] = "earliest"
        _fill(engine, rows)
        yield from _lookups(engine, rounds)
        with ServerThread(engine._engine) as server, ksqlpy.connect(server.url) as remote:
            remote.properties.update(engine.properties)
            for how, session in (("embedded", engine), ("REST", remote)):
                yield from _rows(session, how, rows, rounds)
                yield from _subscribed(session, how, rows)
    for what, (query, wanted) in _QUERIES.items():
        yield _tests(what, query, wanted)


def _shown(values: list[float], form: str) -> str:
    listed = " ".join(format(v, form) for v in values)
    return f"{format(statistics.median(values), form)} (median of {listed})"


def _python(program: str) -> float:
    """How long a program takes; its last line, if it has one, says it instead."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True)
    took = time.perf_counter() - begin
    return float(done.stdout.split()[-1]) if done.stdout.strip() else took


def _imported(rounds: int) -> str:
    bare, whole = [], []
    for _ in range(max(9, rounds)):
        bare.append(_python("pass") * 1000)
        whole.append(_python("import ksqlpy") * 1000)
    took = statistics.median(whole) - statistics.median(bare)
    return f"import ksqlpy: {took:.0f} ms more than Python's own start of {statistics.median(bare):.0f} ms"


def _first(rounds: int) -> str:
    _python(_FIRST)  # which fills the caches
    return f"first row after import ksqlpy, embedded Kafka: {_shown([_python(_FIRST) for _ in range(rounds)], '.2f')} s"


def _fill(engine: ksqlpy.Engine, rows: int) -> None:
    engine.sql(
        "CREATE TABLE keyed (k STRING PRIMARY KEY, v INT)"
        " WITH (KAFKA_TOPIC='keyed', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE STREAM many (id INT KEY, v BIGINT, s STRING)"
        " WITH (KAFKA_TOPIC='many', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE STREAM done (id INT KEY, v BIGINT) WITH (KAFKA_TOPIC='done', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    engine.insert("keyed", ({"k": f"key{n}", "v": n} for n in range(_KEYS)))
    engine.insert("many", ({"id": n, "v": n, "s": "some text"} for n in range(rows)))


def _per_second(work: Callable[[], int], rounds: int) -> str:
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        count = work()
        found.append(count / (time.perf_counter() - begin))
    return f"{_shown(found, ',.0f')}/s"


def _lookups(engine: ksqlpy.Engine, rounds: int) -> Iterator[str]:
    table = engine.table("keyed")
    table.get("key1", wait=_WAIT)

    def by_key() -> int:
        for n in range(20_000):
            assert table[f"key{n % _KEYS}"].v == n % _KEYS
        return 20_000

    def by_query() -> int:
        for n in range(5_000):
            [row] = engine.query("SELECT v FROM keyed WHERE k = :k", k=f"key{n % _KEYS}")
            assert row.v == n % _KEYS
        return 5_000

    yield f"lookups table[key]: {_per_second(by_key, rounds)}"
    yield f"lookups by query(…, k=key): {_per_second(by_query, rounds)}"


def _rows(session: Session, how: str, rows: int, rounds: int) -> Iterator[str]:
    def iterated() -> int:
        with session.query(f"SELECT id, v, s FROM many EMIT CHANGES LIMIT {rows}") as result:
            return sum(1 for _ in result)

    yield f"push query iterated, {how}: {_per_second(iterated, rounds)}"
    for query in (f"SELECT id, v, s FROM many EMIT CHANGES LIMIT {rows}", "SELECT id, v, s FROM many"):
        took = []
        for _ in range(rounds):
            begin = time.perf_counter()
            with session.query(query) as result:
                assert result.arrow().num_rows == rows
            took.append(time.perf_counter() - begin)
        yield f".arrow() of {rows:,} rows, {'push' if 'EMIT' in query else 'pull'}, {how}: {_shown(took, '.2f')} s"


def _subscribed(session: Session, how: str, rows: int) -> Iterator[str]:
    def none(row: Row) -> None:
        return None

    def one(row: Row) -> dict[str, int]:
        return {"id": row[0], "v": row[1]}

    for what, function, to in (("without results", none, None), ("a result each", one, "done")):
        begin = time.perf_counter()
        name = f"{how}-{'sink' if to else 'none'}"
        subscription = session.subscribe("SELECT id, v, s FROM many EMIT CHANGES", name=name, to=to)(function)
        assert subscription.wait(_WAIT, rows=rows)
        took = time.perf_counter() - begin
        subscription.stop()
        yield f"subscription, {what}, {how}: {rows / took:,.0f} rows/s"


def _tests(what: str, query: str, wanted: str) -> str:
    """Time of a test with the fixture ``ksql``, behind those that warm it up."""
    count = 60
    with tempfile.TemporaryDirectory(prefix="bench-library-") as folder:
        file = Path(folder) / "test_counts.py"
        file.write_text(_TESTS.format(count=count, query=query, wanted=wanted), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0", "-vv", str(file)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=_environment())
    took = {int(n): float(s) * 1000 for s, n in re.findall(r"([\d.]+)s call .*\[(\d+)\]", done.stdout)}
    warm = [took[n] for n in range(count // 2, count)]
    return f"test with the fixture ksql, {what}: {statistics.median(warm):.0f} ms once warm, the first {took[0]:.0f} ms"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_ROOT)}
