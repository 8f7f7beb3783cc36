"""The alert rules of examples/monitoring over what a server tells, minute by minute: each fires by what it is for.

The engine's clock is not waited for: it tells what it would tell at that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ksqlpy.audit import Audit
from ksqlpy.figures import Counts, EngineMetrics, Machine, Progress, QueryFigures, QueryMetrics, Seen, Wait
from ksqlpy.server import metrics
from ksqlpy.server.backend import State
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine
from tests.support.monitoring import MADE
from tests.support.promql import Rule, Samples

START = 1_700_000_000
MINUTES = 75
GB = 10**9

SCRAPED = {"job": "ksqlpy", "instance": "a:8088"}


def healthy(minute: int) -> EngineMetrics:
    """A query that reads and writes a record a second."""
    now = START + 60 * minute
    counts = Counts({"s": 60 * minute}, {"OUT": 60 * minute}, lags={"s-0": Seen(minute % 3)})
    figures = QueryFigures(counts, "real-time", Progress(1000 * (now - 20), 4096), {"unreadable": 2})
    query = QueryMetrics("CSAS_OUT_1", "OUT", "RUNNING", float(START), 1, 0.0, figures, behind=0.5)
    machine = Machine(heap_used=GB // 2, heap_max=GB, collections=minute, collection_ms=9 * minute)
    return EngineMetrics("1", "default_", (query,), {"used": 2, "free": 6}, 0, 0, 0.5, 50 * GB, machine)


def query(minute: int, **changed: Any) -> EngineMetrics:
    """As healthy, but of the query."""
    told = healthy(minute)
    return replace(told, queries=(replace(told.queries[0], **changed),))


def figures(minute: int, **changed: Any) -> EngineMetrics:
    """As healthy, but of its figures."""
    return query(minute, figures=replace(healthy(minute).queries[0].figures, **changed))


def counts(minute: int, **changed: Any) -> EngineMetrics:
    """As healthy, but of its counts."""
    return figures(minute, counts=replace(healthy(minute).queries[0].figures.counts, **changed))


@dataclass(frozen=True)
class Story:
    """What goes wrong from minute 10 on. ``fires``: the alerts that come of it, each with the labels of its own."""

    tells: Callable[[int], EngineMetrics]
    fires: Mapping[str, Mapping[str, str]]
    away: bool = False
    starts: bool = False
    loses: bool = False
    """A line of the audit log each minute."""


OF_QUERY = {"query": "CSAS_OUT_1"}

STORIES = {
    "the server does not answer": Story(healthy, {"KsqlpyDown": {}}, away=True),
    "it takes no statements": Story(healthy, {"KsqlpyNotReady": {}}, starts=True),
    "a query has failed": Story(
        lambda m: query(m, state="ERROR"),
        {"KsqlpyQueryFails": {**OF_QUERY, "state": "ERROR"}, "KsqlpyQueryDoesNotRun": {**OF_QUERY, "sink": "OUT"}},
    ),
    "a query does not end its recovery": Story(
        lambda m: query(m, state="RECOVERING"), {"KsqlpyQueryDoesNotRun": {**OF_QUERY, "sink": "OUT"}}
    ),
    "a query fails and runs again": Story(
        lambda m: query(m, restarts=m, state="RETRYING" if m % 3 == 0 else "RUNNING"),
        {"KsqlpyQueryRestarts": OF_QUERY},
    ),
    "more records come than are read": Story(
        lambda m: counts(m, lags={"s-0": Seen(9_000 + 400 * (m - 10))}), {"KsqlpyLagGrows": OF_QUERY}
    ),
    "a query is behind": Story(lambda m: query(m, behind=280.0 + 60 * (m - 10)), {"KsqlpyQueryBehind": OF_QUERY}),
    "a query reads nothing of what there is": Story(
        lambda m: query(m, stalled=60.0 * (m - 10)), {"KsqlpyQueryStalls": OF_QUERY}
    ),
    "nothing comes out": Story(lambda m: counts(m, sent={"OUT": 600}), {"KsqlpyInputWithoutOutput": OF_QUERY}),
    "a partition has no records": Story(
        lambda m: counts(m, waiting=Wait("zones-1", 1000 * (START + 600))),
        {"KsqlpyQueryWaits": {**OF_QUERY, "partition": "zones-1"}},
    ),
    "a record cannot be read": Story(
        lambda m: figures(m, letters={"unreadable": 3, "too_large": 0}), {"KsqlpyDeadLetters": OF_QUERY}
    ),
    "no checkpoint is made": Story(
        lambda m: figures(m, progress=Progress(1000 * (START + 590), 4096)), {"KsqlpyCheckpointLate": OF_QUERY}
    ),
    "Spark's JVM does not answer": Story(
        lambda m: replace(healthy(m), age=60.0 * (m - 9), machine=Machine()), {"KsqlpyNoFigures": {}}
    ),
    "Spark's JVM has died": Story(lambda m: replace(healthy(m), jvm_restarts=1), {"KsqlpyJvmDied": {}}),
    "its heap is full": Story(
        lambda m: replace(healthy(m), machine=Machine(heap_used=GB - 1, heap_max=GB)), {"KsqlpyHeapFull": {}}
    ),
    "the disk is full": Story(lambda m: replace(healthy(m), free_bytes=GB // 2), {"KsqlpyDiskFull": {}}),
    "lines of the audit log are lost": Story(healthy, {"KsqlpyAuditLost": {"place": "queue"}}, loses=True),
    "a query is paused, with records to read": Story(lambda m: query(m, state="PAUSED", stalled=60.0 * (m - 10)), {}),
}


def fired(
    server: ServerThread, engine: FakeEngine, http: httpx.Client, audit: Audit, story: Story
) -> dict[str, dict[str, str]]:
    """The alerts of all minutes, with their labels but those of the scrape."""
    samples, found = Samples(), dict[str, dict[str, str]]()
    rules = [Rule(a.name, a.expr, a.holds) for a in MADE.ALERTS]
    for minute in range(MINUTES):
        now, wrong = START + 60 * minute, minute >= 10
        engine.told = story.tells(minute) if wrong else healthy(minute)
        server.backend.state = State.STARTING if wrong and story.starts else State.READY
        audit.lost["queue"] += wrong and story.loses
        away = wrong and story.away
        text = "" if away else http.get("/metrics").text
        told = [
            (s.name, {**s.labels, **SCRAPED}, s.value) for f in text_string_to_metric_families(text) for s in f.samples
        ]
        samples.scraped(now, [("up", SCRAPED, 0 if away else 1), *told])
        for rule in rules:
            for labels in rule.firing(samples, now):
                assert wrong, f"{rule.name} ahead of the fault"
                found[rule.name] = {k: v for k, v in labels.items() if k not in SCRAPED}
    return found


@pytest.fixture(autouse=True)
def asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "KEPT", 0.0)
    monkeypatch.setattr(metrics, "RECENT", 0.0)


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Audit]:
    """The audit log of the server, which writes nowhere."""
    made = Audit([])
    monkeypatch.setattr(Audit, "of", lambda config: made)
    yield made
    made.close()


@pytest.mark.parametrize("story", STORIES)
def test_an_alert_fires_by_what_it_is_for(
    audit: Audit, server: ServerThread, engine: FakeEngine, http: httpx.Client, story: str
) -> None:
    """And no other one; ahead of the fault none does."""
    assert fired(server, engine, http, audit, STORIES[story]) == STORIES[story].fires


def test_each_alert_has_a_story() -> None:
    assert {name for story in STORIES.values() for name in story.fires} == {a.name for a in MADE.ALERTS}
