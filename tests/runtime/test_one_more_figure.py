"""A figure is one entry of the table: DESCRIBE … EXTENDED, EXPLAIN of a query, the shell and /metrics then tell it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.figures import FIGURES, Counts, EngineMetrics, QueryFigures, QueryMetrics, Seen
from ksqlpy.runtime.queries import Queries
from ksqlpy.server.metrics import engine_text
from ksqlpy.shell.output import Printer
from ksqlpy.testing.memory import MemoryEngine
from tests.runtime.topics_written import TOPICS

RIDES = "CREATE STREAM rides (k STRING KEY, v INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"


@pytest.fixture(autouse=True)
def topics_written() -> Iterator[None]:
    FIGURES.append(TOPICS)
    yield
    FIGURES.remove(TOPICS)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> MemoryEngine:
    """With a query that has counted."""
    made = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    sent = {"ALL_RIDES": 11_000, "copy": 1, made.brokers.topics.dead_letters: 5}
    counts = Counts(consumed={"rides": 12_000}, sent=sent, lags={"rides-0": Seen(3)})
    monkeypatch.setattr(Queries, "counts", lambda self, query_id: counts)
    letters: Any = SimpleNamespace(of=lambda query_id: {"unreadable": 5}, last_reason=lambda query_id: None)
    monkeypatch.setattr(made.brokers, "dead_letters", letters, raising=False)
    copies: Any = SimpleNamespace(figures=lambda source: None)
    monkeypatch.setattr(made.reads, "copies", copies, raising=False)
    made.execute(f"{RIDES} CREATE STREAM all_rides AS SELECT * FROM rides;", {"auto.offset.reset": "earliest"})
    return made


def test_answers_hold_it(engine: MemoryEngine) -> None:
    [query_id] = engine.catalog.queries
    described, explained = engine.execute(f"DESCRIBE rides EXTENDED; EXPLAIN {query_id};")
    [figures] = described["sourceDescription"]["queryFigures"]
    assert figures["topicsWritten"] == 2, "dead letters are no results"
    assert (figures["rowsIn"], figures["rowsOut"], figures["lag"]) == (12_000, 11_001, 3)
    assert explained["queryDescription"]["figures"]["topicsWritten"] == 2


def test_the_shell_shows_it(engine: MemoryEngine) -> None:
    [query_id] = engine.catalog.queries
    out = io.StringIO()
    Printer("table", out).entities(engine.execute(f"EXPLAIN {query_id};"))
    lines = [line.split(" : ") for line in out.getvalue().splitlines() if " : " in line]
    shown = {name.rstrip(): value for name, value in lines}
    assert (shown["Topics written"], shown["Rows out"], shown["Lag"]) == ("2", "11001", "3")
    assert "Latency" not in shown


def test_a_scrape_has_it() -> None:
    figures = QueryFigures(Counts(sent={"ALL_RIDES": 11_000, "copy": 1}))
    query = QueryMetrics("CSAS_1", "ALL_RIDES", "RUNNING", None, 0, 0.0, figures)
    text = engine_text(lambda: EngineMetrics("1", "default_", (query,))).text.decode()
    assert "# HELP ksqlpy_query_topics_written topics to which it has written results\n" in text
    assert 'ksqlpy_query_topics_written{query="CSAS_1"} 2.0\n' in text
