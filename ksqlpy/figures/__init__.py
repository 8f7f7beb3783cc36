"""Figures of queries: what the JVMs count, how the counts of several add up, and how people read them."""

from ksqlpy.figures.counts import Counts, Latency, Merge, Seen, Wait
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
    "FIGURES",
    "Counts",
    "Figure",
    "Latency",
    "Merge",
    "Progress",
    "QueryFigures",
    "Seen",
    "Wait",
    "figures_json",
    "lag_text",
    "latency_text",
    "plain",
    "time_text",
]
