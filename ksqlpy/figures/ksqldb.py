"""ksqlDB's metrics, under the names that they have in Prometheus, so that dashboards made for it go on.

Sources: ksqlDB manual, "Metrics", for the JMX attributes; the rules of Prometheus' JMX exporter that Confluent
publishes for ksqlDB (jmx-monitoring-stacks), for their names. Left out is what ksqlpy does not know, as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ksqlpy.figures.metrics import Kind, Metric, Sample
from ksqlpy.figures.server import EngineMetrics, QueryMetrics

__all__ = ["KSQLDB_METRICS"]

_CLUSTER = "ksql_cluster"

_STATES = {
    "STARTING": "REBALANCING",
    "RECOVERING": "REBALANCING",
    "RUNNING": "RUNNING",
    "RETRYING": "ERROR",
    "ERROR": "ERROR",
    "PAUSED": "RUNNING",
    "STOPPED": "NOT_RUNNING",
}
"""States of Kafka Streams, by ours: that of a query that is paused goes on."""

_SHOWN = {"PAUSED": "PAUSED", "RETRYING": "ERROR", "ERROR": "ERROR", "STOPPED": "ERROR"}
"""What ksqlDB shows of ours that are not RUNNING to it, see ``QueryStatus.client_status``."""


def _engine(name: str, kind: Kind, help: str, of: Callable[[Sequence[QueryMetrics]], float]) -> Metric[EngineMetrics]:
    def samples(told: EngineMetrics) -> Iterable[Sample]:
        return [((told.service,), of(told.queries))]

    return Metric(f"ksql_ksql_engine_query_stats_{name}", kind, help, samples, (_CLUSTER,), prefix="")


def _query(name: str, help: str, of: Callable[[QueryMetrics], str]) -> Metric[EngineMetrics]:
    def samples(told: EngineMetrics) -> Iterable[Sample]:
        return [((told.service, q.id, of(q)), 1) for q in told.queries]

    labels = (_CLUSTER, "ksql_query", name)
    return Metric(f"ksql_ksql_metrics_ksql_queries_{name}", Kind.GAUGE, help, samples, labels, prefix="")


def _in_state(state: str) -> Callable[[Sequence[QueryMetrics]], float]:
    return lambda queries: sum(_STATES[q.state] == state for q in queries)


def _consumed(fold: Callable[[list[float]], float]) -> Callable[[Sequence[QueryMetrics]], float]:
    return lambda queries: fold([q.read_per_second for q in queries]) if queries else 0


def _metrics() -> Iterator[Metric[EngineMetrics]]:
    yield _engine("liveness_indicator", Kind.GAUGE, "1", lambda queries: 1)
    yield _engine("num_persistent_queries", Kind.GAUGE, "persistent queries", len)
    yield _engine(
        "num_active_queries",
        Kind.GAUGE,
        "queries that read",
        lambda queries: sum(q.read_per_second > 0 for q in queries),
    )
    yield _engine(
        "num_idle_queries",
        Kind.GAUGE,
        "queries that read nothing",
        lambda queries: sum(q.read_per_second == 0 for q in queries),
    )
    for state in ("RUNNING", "REBALANCING", "ERROR", "NOT_RUNNING"):
        help = f"queries that Kafka Streams would call {state}"
        yield _engine(f"{state.lower()}_queries", Kind.GAUGE, help, _in_state(state))
    yield _engine(
        "messages_consumed_total",
        Kind.COUNTER,
        "records read",
        lambda queries: sum(sum(q.figures.counts.consumed.values()) for q in queries),
    )
    yield _engine("messages_consumed_per_sec", Kind.GAUGE, "records read in a second, of all queries", _consumed(sum))
    yield _engine("messages_consumed_min", Kind.GAUGE, "the same of the query that reads least", _consumed(min))
    yield _engine("messages_consumed_max", Kind.GAUGE, "the same of the query that reads most", _consumed(max))
    yield _engine(
        "messages_consumed_avg", Kind.GAUGE, "the mean of all queries", _consumed(lambda rates: sum(rates) / len(rates))
    )
    yield _engine(
        "messages_produced_per_sec",
        Kind.GAUGE,
        "records written in a second, of all queries",
        lambda queries: sum(q.written_per_second for q in queries),
    )
    yield _engine(
        "error_rate",
        Kind.GAUGE,
        "dead letters in a second, of all queries",
        lambda queries: sum(q.letters_per_second for q in queries),
    )
    yield _query("query_status", "1; the state that Kafka Streams would have", lambda q: _STATES[q.state])
    yield _query("ksql_query_status", "1; the state that ksqlDB would show", lambda q: _SHOWN.get(q.state, "RUNNING"))


KSQLDB_METRICS = tuple(_metrics())
