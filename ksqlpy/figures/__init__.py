"""Figures of queries: what the JVMs count, how the counts of several add up, and how people read them."""

from ksqlpy.figures.counts import Counts, Latency, Merge, Seen, Wait
from ksqlpy.figures.ksqldb import KSQLDB_METRICS
from ksqlpy.figures.metrics import PREFIX, SUM, Kind, Metric, Sample
from ksqlpy.figures.server import (
    ENGINE_METRICS,
    SERVER_METRICS,
    CopyFigures,
    EngineMetrics,
    JvmFigures,
    Machine,
    QueryMetrics,
    ServerMetrics,
    query_metrics,
)
from ksqlpy.figures.table import (
    FIGURES,
    Figure,
    Progress,
    QueryFigures,
    figures_json,
    lag_text,
    latency_text,
    plain,
    time_text,
)

__all__ = [
    "ENGINE_METRICS",
    "FIGURES",
    "KSQLDB_METRICS",
    "PREFIX",
    "SERVER_METRICS",
    "SUM",
    "CopyFigures",
    "Counts",
    "EngineMetrics",
    "Figure",
    "JvmFigures",
    "Kind",
    "Latency",
    "Machine",
    "Merge",
    "Metric",
    "Progress",
    "QueryFigures",
    "QueryMetrics",
    "Sample",
    "Seen",
    "ServerMetrics",
    "Wait",
    "figures_json",
    "lag_text",
    "latency_text",
    "plain",
    "query_metrics",
    "time_text",
]
