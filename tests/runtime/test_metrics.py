"""What an engine tells for /metrics: all queries by one question to Spark's JVM, which need not answer."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.figures import (
    KSQLDB_METRICS,
    Counts,
    EngineMetrics,
    Machine,
    Progress,
    QueryFigures,
    QueryMetrics,
    Seen,
)
from ksqlpy.runtime import metrics as runtime_metrics
from ksqlpy.runtime.deadletters import kind_of
from ksqlpy.runtime.lagtime import MOST, LagTime
from ksqlpy.runtime.metrics import Metrics
from ksqlpy.spark import figures
from ksqlpy.spark.query_status import QueryStatus, State
from tests.support.waiting import until

DEAD, LATE = "dead_letters", "late_ones"


class Jvm:
    """Spark's JVM, which tells of ``queries`` by their ids; counts how often it is asked."""

    def __init__(self, queries: dict[str, dict[str, Any]]) -> None:
        self.queries = queries
        self.calls = 0
        self.answers = threading.Event()
        self.answers.set()
        self.names = 0

    @property
    def ksqlpy(self) -> Any:
        """A package, for which PySpark asks the JVM."""
        self.names += 1
        return SimpleNamespace(metrics=SimpleNamespace(Figures=self))

    def readAll(self) -> str:  # Java's name
        self.calls += 1
        self.answers.wait(60)
        machine = {"heapUsed": 100, "heapMax": 200, "collections": 7, "collectionMs": 1500, "threads": 9, "cpuMs": None}
        return json.dumps({"queries": self.queries, "machine": machine})


def told(read: int, lag: int = 0, sent: int = 0) -> dict[str, Any]:
    sums = {"consumed:s": read, "sent:OUT": sent, f"sent:{DEAD}": 1, f"sent:{LATE}": 2}
    here = {"sums": sums, "lags": {"s-0": lag}, "leads": {}, "ages": {}, "latency": {"5": 1}, "waiting": None}
    return {"here": here, "gone": {}, "executors": {}, "batch": {"committed": 1_700_000_000_000, "state": 4096}}


class Parts:
    """An engine's parts: ``count`` queries, which run."""

    def __init__(self, count: int) -> None:
        self.status = QueryStatus(State.RUNNING, 1_700_000_000.0)
        plan = SimpleNamespace(late_topic=LATE)
        self.running = {
            f"CSAS_{n}": SimpleNamespace(
                spec=SimpleNamespace(id=f"CSAS_{n}", plan=plan), restarts=n, refused=False, error=f"why {n}"
            )
            for n in range(count)
        }
        for query in self.running.values():
            query.doing = "real-time"
        slots = SimpleNamespace(capacity=8, of=lambda spec: 3)
        queries = SimpleNamespace(get=self.running.get, all=lambda: list(self.running.values()), task_slots=slots)
        self.supervisor: Any = SimpleNamespace(
            queries=queries,
            session=None,
            driver=SimpleNamespace(restarts=2),
            status=lambda query_id, catalog: self.status,
        )
        letters = SimpleNamespace(of=lambda query_id: {"unreadable": 1})
        config = SimpleNamespace(get=lambda name: "default_")
        self.brokers: Any = SimpleNamespace(
            topics=SimpleNamespace(dead_letters=DEAD), dead_letters=letters, config=config
        )
        self.catalog: Any = SimpleNamespace(
            queries={query_id: SimpleNamespace(sink="OUT") for query_id in self.running}, blocked={}
        )

    def metrics(self) -> Metrics:
        return Metrics(self.brokers, self.supervisor)


def now(metrics: Metrics, parts: Parts, push_queries: int = 0) -> EngineMetrics:
    return metrics.now(parts.catalog, push_queries, Path("/"))


def jvm(monkeypatch: pytest.MonkeyPatch, queries: dict[str, dict[str, Any]]) -> Jvm:
    made = Jvm(queries)
    monkeypatch.setattr(figures, "jvm_of", lambda session: made)
    return made


def test_one_question_tells_of_two_hundred_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(200)
    asked = jvm(monkeypatch, {query_id: told(n, n, n) for n, query_id in enumerate(parts.running)})
    metrics = parts.metrics()
    found = now(metrics, parts, 4)
    assert asked.calls == 1
    assert (len(found.queries), found.push_queries, found.jvm_restarts) == (200, 4, 2)
    assert found.slots == {"used": 600, "free": 0}
    query = next(q for q in found.queries if q.id == "CSAS_7")
    assert (query.sink, query.state, query.since, query.restarts) == ("OUT", "RUNNING", 1_700_000_000.0, 7)
    assert query.error == "why 7"
    counts = Counts({"s": 7}, {"OUT": 7}, lags={"s-0": Seen(7)}, took={5: 1})
    assert query.figures.counts == counts, "dead letters and late records are no results"
    assert query.figures.progress == Progress(1_700_000_000_000, 4096)
    assert query.figures.letters == {"unreadable": 1}
    assert (found.machine.heap_max, found.machine.threads, found.machine.cpu_ms) == (200, 9, None)
    assert found.free_bytes is not None and found.free_bytes > 0
    now(metrics, parts)
    assert (asked.calls, asked.names) == (2, 1), "each name is a question, too"


def test_queries_that_do_not_run_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)
    jvm(monkeypatch, {})
    parts.running.clear()
    parts.status = QueryStatus(State.ERROR, None)
    parts.catalog.blocked["query", "CSAS_ODD"] = "its entry is odd"
    parts.catalog.blocked["source", "OUT"] = "its entry is odd"
    found = now(parts.metrics(), parts)
    assert [(q.id, q.sink, q.state) for q in found.queries] == [("CSAS_0", "OUT", "ERROR"), ("CSAS_ODD", "", "ERROR")]


def test_a_jvm_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)
    asked = jvm(monkeypatch, {"CSAS_0": told(5)})
    metrics = parts.metrics()
    first = now(metrics, parts)
    assert first.age is not None
    monkeypatch.setattr(runtime_metrics, "PATIENCE", 0.01)
    asked.answers.clear()
    asked.queries["CSAS_0"] = told(6)
    for _ in range(5):
        later = now(metrics, parts)
        assert later.queries[0].figures.counts.consumed == {"s": 5}, "those of before"
        assert later.age is not None and later.age > first.age
    assert asked.calls == 2, "it is not asked again before it has answered"
    monkeypatch.setattr(runtime_metrics, "OLD", 0.0)
    assert now(metrics, parts).queries[0].figures.counts == Counts(), "old figures would mislead"
    asked.answers.set()


def test_figures_that_are_told_again_are_no_other_look(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)
    asked = jvm(monkeypatch, {"CSAS_0": told(100, lag=50)})
    clock = [1000.0]
    metrics = Metrics(parts.brokers, parts.supervisor, lambda: clock[0])
    now(metrics, parts)
    clock[0] += 10
    asked.queries["CSAS_0"] = told(200, lag=40)
    before = now(metrics, parts)
    assert (before.queries[0].read_per_second, before.age) == (10, 0)
    monkeypatch.setattr(runtime_metrics, "PATIENCE", 0.0)
    asked.answers.clear()
    asked.queries["CSAS_0"] = told(300, lag=30)
    clock[0] += 10
    late = now(metrics, parts)
    assert (late.queries, late.age) == (before.queries, 10), "no rate of 0, no longer lag: nobody has looked"
    asked.answers.set()
    assert until(lambda: now(metrics, parts).queries[0].figures.counts.consumed == {"s": 300})
    assert now(metrics, parts).queries[0].read_per_second == 10


def test_a_jvm_that_fails_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)

    def gone(session: object) -> None:
        raise OSError("no JVM")

    monkeypatch.setattr(figures, "jvm_of", gone)
    found = now(parts.metrics(), parts)
    assert (found.age, found.machine) == (None, Machine())
    assert [(q.state, q.figures.counts) for q in found.queries] == [("RUNNING", Counts())]


def test_a_query_that_reads_nothing_of_what_there_is_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)
    asked = jvm(monkeypatch, {"CSAS_0": told(5, lag=3)})
    clock = [1000.0]
    metrics = Metrics(parts.brokers, parts.supervisor, lambda: clock[0])

    def stalled(seconds: float, read: int, lag: int) -> float:
        clock[0] += seconds
        asked.queries["CSAS_0"] = told(read, lag)
        return now(metrics, parts).queries[0].stalled

    assert stalled(0, read=5, lag=3) == 0
    assert stalled(10, read=5, lag=4) == 10
    assert stalled(10, read=5, lag=9) == 20
    assert stalled(10, read=6, lag=8) == 0
    assert stalled(10, read=6, lag=0) == 0, "it has nothing to read"
    assert stalled(10, read=6, lag=1) == 0, "which has come just now"
    assert stalled(10, read=6, lag=1) == 10


def test_the_lag_in_seconds_is_the_age_of_the_next_record(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)
    asked = jvm(monkeypatch, {})
    clock = [1000.0]
    metrics = Metrics(parts.brokers, parts.supervisor, lambda: clock[0])

    def behind(seconds: float, read: int, lag: int) -> float | None:
        clock[0] += seconds
        asked.queries["CSAS_0"] = told(read, lag)
        return now(metrics, parts).queries[0].behind

    assert behind(0, read=0, lag=100) == 0, "nobody knows since when"
    assert behind(10, read=0, lag=200) == 10
    assert behind(10, read=50, lag=150) == 20, "the 51st was there at the first look"
    assert behind(10, read=100, lag=100) == 30, "the 101st came behind the first look, 30 s ago at most"
    assert behind(10, read=150, lag=50) == 35, "in the middle of those of ten seconds"
    assert behind(10, read=200, lag=0) == 0
    assert behind(10, read=200, lag=10) == 10, "it came behind the look before"
    assert behind(10, read=205, lag=5) == 15
    assert behind(10, read=3, lag=90) == 0, "another JVM counts from 0"
    assert behind(10, read=50, lag=33) == 10, "offsets without records were in the lag"
    del asked.queries["CSAS_0"]
    clock[0] += 10
    assert now(metrics, parts).queries[0].behind is None
    parts.catalog.queries.clear()
    assert now(metrics, parts).queries == ()
    assert not metrics._lags, "what is known of a query that has ended goes"


def test_few_looks_are_kept_of_a_long_lag() -> None:
    lag = LagTime()
    for second in range(10_000):
        found = lag.at(second, read=0, lag=second + 1)
    assert found == 9_999
    assert len(lag.seen) <= MOST
    assert lag.at(10_000, read=5_000, lag=5_001) == pytest.approx(5_000, rel=0.01)


def test_rates_are_those_since_the_look_before(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(1)
    asked = jvm(monkeypatch, {})
    clock = [1000.0]
    metrics = Metrics(parts.brokers, parts.supervisor, lambda: clock[0])

    def rates(seconds: float, read: int, sent: int) -> tuple[float, float]:
        clock[0] += seconds
        asked.queries["CSAS_0"] = told(read, sent=sent)
        query = now(metrics, parts).queries[0]
        return query.read_per_second, query.written_per_second

    assert rates(0, read=100, sent=50) == (0, 0), "nobody knows since when"
    assert rates(10, read=200, sent=80) == (10, 3)
    assert rates(5, read=10, sent=0) == (0, 0), "another JVM counts from 0"
    assert rates(2, read=30, sent=1) == (10, 0.5)


def test_ksqldbs_states_of_all_of_ours() -> None:
    queries = tuple(QueryMetrics(s, "OUT", s, None, 0, 0.0, QueryFigures(Counts())) for s in State)
    told = EngineMetrics("1", "default_", queries)
    [shown] = [m for m in KSQLDB_METRICS if m.name.endswith("_ksql_query_status")]
    assert {query_id: state for (_, query_id, state), _ in shown.samples(told)} == {
        s: QueryStatus(s).client_status for s in State
    }
    [streams] = [m for m in KSQLDB_METRICS if m.name.endswith("queries_query_status")]
    assert len(list(streams.samples(told))) == len(State)


@pytest.mark.parametrize(
    ("reason", "result", "kind"),
    [
        ("the value is no JSON", False, "unreadable"),
        ("", False, "unreadable"),
        ("the schema refuses it", True, "unwritable"),
        ("too large: it has 12 bytes, more than 10", False, "too_large"),
        ("its window is closed; for topic late too large: it has 12 bytes", True, "too_large"),
        ("skipped by a statement, without its 12 bytes", False, "skipped"),
    ],
)
def test_kinds_of_dead_letters(reason: str, result: bool, kind: str) -> None:
    assert kind_of(reason, result=result) == kind
