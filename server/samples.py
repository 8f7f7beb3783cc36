"""What goes on as JSON has it: the figures of one moment, the part of it that somebody sees, and what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ksqlpy.figures import EngineMetrics, QueryMetrics

__all__ = [
    "QUERY_SERIES",
    "SERVER_SERIES",
    "Own",
    "Sample",
    "Seen",
    "View",
    "changes",
    "rings",
    "sampled",
    "seen",
    "whole",
]

Figures = dict[str, Any]

OLD = 24 * 60 * 60 * 1000
"""Ms: a result that seems to take longer is about an old event, and says nothing of how quick the query is."""

STALE = 60.0
"""Seconds after which an engine tells no counts that its JVM has told."""

QUERY_SERIES = ("inRate", "outRate", "lag", "lagSeconds", "p50", "p99", "deadLetters", "stateBytes")
SERVER_SERIES = (
    "heapUsed",
    "jvmCpu",
    "cpu",
    "memory",
    "slotsUsed",
    "pushQueries",
    "pullQueries",
    "requestsOpen",
)
"""Figures of which an hour is kept."""


@dataclass(frozen=True, slots=True)
class Own:
    """What a server knows of itself. ``cpu``: seconds that its process has worked; ``memory``: of it, in bytes.

    ``requests``: that are answered now; ``watchers``: streams of figures.
    """

    cpu: float
    memory: int | None
    requests: int
    watchers: int


@dataclass(frozen=True)
class Sample:
    """The figures of one moment. ``at``: ms since 1970; ``clock``: of the engine's figures, in seconds of any clock.

    ``read``, ``written``: records a second by query and topic, None where they are not known yet.
    """

    at: int
    clock: float
    told: EngineMetrics
    own: Own
    queries: Mapping[str, Figures] = field(default_factory=dict)
    read: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    written: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    server: Figures = field(default_factory=dict)


def sampled(at: int, clock: float, told: EngineMetrics, own: Own, before: Sample | None) -> Sample:
    """The sample of what an engine tells; rates are those since the sample before."""
    seconds = 0.0 if before is None else clock - before.clock
    known = _known(told)
    had = {q.id: q for q in before.told.queries} if before is not None and known and _known(before.told) else {}
    queries: dict[str, Figures] = {}
    read: dict[str, Mapping[str, float]] = {}
    written: dict[str, Mapping[str, float]] = {}
    for q in told.queries:
        last = had.get(q.id)
        if before is not None and last is not None and seconds <= 0:  # the same figures are told again
            read[q.id], written[q.id] = before.read[q.id], before.written[q.id]
        else:
            old, counts = last.figures.counts if last is not None else None, q.figures.counts
            read[q.id] = _rates(counts.consumed, None if old is None else old.consumed, seconds)
            written[q.id] = _rates(counts.sent, None if old is None else old.sent, seconds)
        queries[q.id] = _query(q, read[q.id], written[q.id], known=known, rated=last is not None)
    server = _server(at, told, own, before, seconds)
    return Sample(at, clock, told, own, queries, read, written, server)


def _rates(now: Mapping[str, int], before: Mapping[str, int] | None, seconds: float) -> dict[str, float]:
    """Records a second by topic; counts may have begun at 0 again."""
    if before is None or seconds <= 0:
        return {}
    return {topic: round(max(0, count - before.get(topic, 0)) / seconds, 2) for topic, count in now.items()}


def _known(told: EngineMetrics) -> bool:
    """Whether Spark's JVM has told its counts: if not, none of them are in what the engine tells."""
    return told.age is not None and told.age <= STALE


def _query(
    q: QueryMetrics, read: Mapping[str, float], written: Mapping[str, float], *, known: bool, rated: bool
) -> Figures:
    figures, counts = q.figures, q.figures.counts
    took, progress = counts.latency, figures.so_far
    return {
        "state": q.state,
        "since": None if q.since is None else int(q.since * 1000),
        "mode": figures.mode,
        "rowsIn": sum(counts.consumed.values()) if known else None,
        "rowsOut": sum(counts.sent.values()) if known else None,
        "inRate": round(sum(read.values()), 2) if rated else None,
        "outRate": round(sum(written.values()), 2) if rated else None,
        "readRates": dict(read),
        "lag": counts.lag,
        "lagSeconds": None if q.behind is None else round(q.behind, 1),
        "stalledSeconds": round(q.stalled, 1),
        "p50": None if took is None or took.p50 >= OLD else took.p50,
        "p99": None if took is None or took.p99 >= OLD else took.p99,
        "late": counts.late if known else None,
        "failed": counts.failed if known else None,
        "deadLetters": sum(figures.letters.values()),
        "restarts": q.restarts,
        "stateBytes": progress.state_bytes,
        "lastCommit": progress.last_commit,
        "error": q.error,
    }


def _server(at: int, told: EngineMetrics, own: Own, before: Sample | None, seconds: float) -> Figures:
    machine, cpu, jvm = told.machine, None, None
    if before is not None:
        cpu = _used(own.cpu - before.own.cpu, (at - before.at) / 1000)
        had = before.told.machine.cpu_ms
        if seconds <= 0:  # the same figures are told again
            jvm = before.server["jvmCpu"]
        elif machine.cpu_ms is not None and had is not None:
            jvm = _used((machine.cpu_ms - had) / 1000, seconds)
    return {
        "heapUsed": machine.heap_used,
        "heapMax": machine.heap_max,
        "jvmCpu": jvm,
        "jvmThreads": machine.threads,
        "cpu": cpu,
        "memory": own.memory,
        "slotsUsed": told.slots.get("used"),
        "slotsFree": told.slots.get("free"),
        "pushQueries": told.push_queries,
        "pullQueries": told.pull_queries,
        "requestsOpen": own.requests,
        "watchers": own.watchers,
        "jvmRestarts": told.jvm_restarts,
        "freeBytes": told.free_bytes,
        "figuresAge": None if told.age is None else round(told.age, 1),
    }


def _used(worked: float, passed: float) -> float | None:
    """Processors in use: seconds of work in so many that have passed."""
    return round(max(0.0, worked) / passed, 3) if passed > 0 else None


# ---------------------------------------------------------------- what somebody sees


@dataclass(frozen=True)
class Seen:
    """What somebody sees: ``queries``, ``topics``: their names, None: all; ``server``: whether that, too."""

    queries: frozenset[str] | None = None
    topics: frozenset[str] | None = None
    server: bool = True


@dataclass(frozen=True)
class View:
    """The part of a sample that somebody sees."""

    queries: Mapping[str, Figures]
    topics: Mapping[str, Figures]
    server: Figures | None


def seen(sample: Sample, who: Seen) -> View:
    """The part of a sample; what flows through a topic is told of the queries only that one sees."""
    ids = [q for q in sample.queries if who.queries is None or q in who.queries]
    topics: dict[str, Figures] = {}
    for name, rates in (("readRate", sample.read), ("writeRate", sample.written)):
        for query in ids:
            for topic, rate in rates[query].items():
                if who.topics is None or topic in who.topics:
                    told = topics.setdefault(topic, {"readRate": None, "writeRate": None})
                    told[name] = round((told[name] or 0.0) + rate, 2)
    return View({q: sample.queries[q] for q in ids}, topics, sample.server if who.server else None)


def whole(view: View) -> dict[str, Any]:
    """All figures, as the first line has them."""
    told = {"queries": view.queries, "topics": view.topics}
    return told if view.server is None else {**told, "server": view.server}


def changes(before: View, now: View) -> dict[str, Any]:
    """What has changed between two views: of each thing the figures that did; parts without changes are left out."""
    found: dict[str, Any] = {}
    for name, gone, old, new in (
        ("queries", "gone", before.queries, now.queries),
        ("topics", "goneTopics", before.topics, now.topics),
    ):
        changed = {key: part for key, told in new.items() if (part := _changed(old.get(key), told))}
        found |= {name: changed} if changed else {}
        lost = [key for key in old if key not in new]
        found |= {gone: lost} if lost else {}
    if now.server is not None and (part := _changed(before.server, now.server)):
        found["server"] = part
    return found


def _changed(before: Figures | None, now: Figures) -> Figures:
    return now if before is None else {name: value for name, value in now.items() if before[name] != value}


def rings(sample: Sample, server: str) -> dict[str, Figures]:
    """What an hour is kept of; ``server``: the name of its ring."""
    return {server: sample.server, **sample.queries}
