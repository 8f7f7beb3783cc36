"""What answers tell of a query: its state, its failures, its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ksqlpy.figures import Counts, QueryFigures, figures_json, plain
from ksqlpy.plan import Plan
from ksqlpy.runtime.context import Context
from ksqlpy.runtime.entities import Entity
from ksqlpy.spark.query_status import QueryStatus, State

__all__ = ["Described", "described_query", "errors_of"]

_OF_PROGRESS = ("lastCommit", "stateBytes")
_LAST = (*_OF_PROGRESS, "deadLetters")
"""Figures that stand behind all others in answers."""


@dataclass(frozen=True, slots=True)
class Described:
    """A query. ``errors``: its last failures; ``live``: its tasks run; ``late_topic``: of its late records."""

    id: str
    status: QueryStatus
    error: str | None
    errors: Sequence[Entity]
    live: bool
    figures: QueryFigures
    late_topic: str | None
    last_dead_letter: str | None

    def entity(self) -> Entity:
        """The ``figures`` of an answer."""
        own = figures_json(self.figures)
        last = _LAST if self.figures.progress is not None else _LAST[len(_OF_PROGRESS) :]
        executors = {id_: _executor(e) for id_, e in self.figures.counts.executors.items()}
        return {
            "state": self.status.state,
            **self.status.told(),
            "error": self.error,
            "errors": list(self.errors),
            "live": self.live,
            **{name: value for name, value in own.items() if name not in _LAST},
            "lateTopic": self.late_topic,
            **({"executors": executors} if executors else {}),
            **{name: own[name] for name in last},
            "lastDeadLetter": self.last_dead_letter,
        }


def _executor(counts: Counts) -> Entity:
    return {
        "consumed": sum(counts.consumed.values()),
        "sent": sum(counts.sent.values()),
        "lag": counts.lag,
        "latency": plain(counts.latency),
    }


def described_query(query_id: str, context: Context, plan: Plan | None = None) -> Described:
    """What is known of a query since the start of the server; ``plan``: of a push query."""
    queries, letters = context.supervisor.queries, context.brokers.dead_letters
    status, running = context.status(query_id), queries.get(query_id)
    blocked = ("query", query_id) in context.catalog.blocked
    late_topic = None if blocked else (plan or context.catalog_service.plan_of(query_id)).late_topic
    aside = (context.brokers.topics.dead_letters, late_topic)
    counts = queries.counts(query_id)
    return Described(
        query_id,
        status,
        running.error if running is not None else None,
        errors_of(query_id, context),
        running is not None and running.live.is_set(),
        QueryFigures(
            replace(counts, sent={t: n for t, n in counts.sent.items() if t not in aside}),
            running.doing if running is not None and status.state is State.RUNNING else None,
            running.progress() if running is not None else None,
            letters.of(query_id),
        ),
        late_topic,
        letters.last_reason(query_id),
    )


def errors_of(query_id: str, context: Context) -> list[Entity]:
    """The last failures of a query, oldest first: USER, SYSTEM or UNKNOWN."""
    problem = context.catalog.blocked.get(("query", query_id))
    if problem is not None:
        return [{"timestamp": context.began_ms, "errorMessage": problem, "type": "USER"}]
    running = context.supervisor.queries.get(query_id)
    failures = running.failures if running is not None else ()
    return [{"timestamp": int(f.at * 1000), "errorMessage": f.message, "type": f.kind} for f in failures]
