"""The alert rules and the dashboard of ``examples/monitoring``, made of the table of metrics.

``make docs`` writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksqlpy.figures import ENGINE_METRICS, FIGURES, PREFIX, SERVER_METRICS, Kind, Metric, query_metrics

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "monitoring"


@dataclass(frozen=True)
class Alert:
    """A rule. ``holds``: for how long ``expr`` must hold; ``summary``: with labels as ``{{ $labels.query }}``.

    ``series``: values, a minute apart, as promtool writes them, by which it fires ``at`` a time; ``of``: the labels
    that it has then.
    """

    name: str
    expr: str
    holds: str
    severity: str
    summary: str
    series: Mapping[str, str]
    of: Mapping[str, str]
    at: str = "29m"


QUERY = {"query": "CSAS_OUT_1"}
_ID = '{query="CSAS_OUT_1"}'

ALERTS = [
    Alert(
        "KsqlpyDown",
        'up{job="ksqlpy"} == 0',
        "1m",
        "critical",
        "The server {{ $labels.instance }} does not answer.",
        {'up{job="ksqlpy", instance="a:8088"}': "0x30"},
        {"job": "ksqlpy", "instance": "a:8088"},
    ),
    Alert(
        "KsqlpyNotReady",
        "ksqlpy_ready == 0",
        "5m",
        "critical",
        "The server takes no statements.",
        {"ksqlpy_ready": "0x30"},
        {},
    ),
    Alert(
        "KsqlpyQueryFails",
        'ksqlpy_query_state{state=~"ERROR|RETRYING"} == 1',
        "2m",
        "critical",
        "Query {{ $labels.query }} is {{ $labels.state }}; EXPLAIN shows why.",
        {'ksqlpy_query_state{query="CSAS_OUT_1", state="RETRYING"}': "1x30"},
        {**QUERY, "state": "RETRYING"},
    ),
    Alert(
        "KsqlpyQueryDoesNotRun",
        'ksqlpy_query_info unless on (instance, query) ksqlpy_query_state{state=~"RUNNING|PAUSED"}',
        "10m",
        "critical",
        "Query {{ $labels.query }} does not run.",
        {
            'ksqlpy_query_info{query="CSAS_OUT_1", sink="OUT"}': "1x30",
            'ksqlpy_query_state{query="CSAS_OUT_1", state="RECOVERING"}': "1x30",
        },
        {**QUERY, "sink": "OUT"},
    ),
    Alert(
        "KsqlpyQueryRestarts",
        "increase(ksqlpy_query_restarts_total[15m]) > 3",
        "0m",
        "warning",
        "Query {{ $labels.query }} fails again and again.",
        {f"ksqlpy_query_restarts_total{_ID}": "0+1x30"},
        QUERY,
    ),
    Alert(
        "KsqlpyLagGrows",
        "ksqlpy_query_lag_records > 10000 and deriv(ksqlpy_query_lag_records[10m]) > 0",
        "15m",
        "warning",
        "Query {{ $labels.query }} reads more slowly than records come.",
        {f"ksqlpy_query_lag_records{_ID}": "20000+100x30"},
        QUERY,
    ),
    Alert(
        "KsqlpyQueryBehind",
        "ksqlpy_query_lag_seconds > 300",
        "10m",
        "warning",
        "Query {{ $labels.query }} is more than five minutes behind what it reads.",
        {f"ksqlpy_query_lag_seconds{_ID}": "0+60x30"},
        QUERY,
    ),
    Alert(
        "KsqlpyQueryStalls",
        'ksqlpy_query_stalled_seconds > 300 unless on (instance, query) ksqlpy_query_state{state="PAUSED"} == 1',
        "0m",
        "critical",
        "Query {{ $labels.query }} reads nothing of what there is.",
        {f"ksqlpy_query_stalled_seconds{_ID}": "0+60x30"},
        QUERY,
    ),
    Alert(
        "KsqlpyInputWithoutOutput",
        "increase(ksqlpy_query_rows_in_total[30m]) > 0 and increase(ksqlpy_query_rows_out_total[30m]) == 0",
        "30m",
        "info",
        "Query {{ $labels.query }} reads records and writes none.",
        {f"ksqlpy_query_rows_in_total{_ID}": "0+10x90", f"ksqlpy_query_rows_out_total{_ID}": "7x90"},
        QUERY,
        "80m",
    ),
    Alert(
        "KsqlpyQueryWaits",
        "time() - ksqlpy_query_waits_since_timestamp_seconds > 300",
        "5m",
        "warning",
        "Query {{ $labels.query }} waits for records of {{ $labels.partition }}.",
        {'ksqlpy_query_waits_since_timestamp_seconds{query="CSAS_OUT_1", partition="s-0"}': "0x30"},
        {**QUERY, "partition": "s-0"},
    ),
    Alert(
        "KsqlpyDeadLetters",
        "sum without (reason) (increase(ksqlpy_query_dead_letters_total[10m])) > 0",
        "0m",
        "warning",
        "Query {{ $labels.query }} has dead letters; `ksqlpy deadletters list` counts them.",
        {'ksqlpy_query_dead_letters_total{query="CSAS_OUT_1", reason="unreadable"}': "0+1x30"},
        QUERY,
    ),
    Alert(
        "KsqlpyCheckpointLate",
        "time() - ksqlpy_query_last_commit_timestamp_seconds > 600"
        ' and on (instance, query) ksqlpy_query_state{state="RUNNING"} == 1',
        "5m",
        "warning",
        "Query {{ $labels.query }} has made no checkpoint for ten minutes.",
        {
            f"ksqlpy_query_last_commit_timestamp_seconds{_ID}": "0x30",
            'ksqlpy_query_state{query="CSAS_OUT_1", state="RUNNING"}': "1x30",
        },
        QUERY,
    ),
    Alert(
        "KsqlpyNoFigures",
        "ksqlpy_figures_age_seconds > 60",
        "2m",
        "warning",
        "Spark's JVM does not answer.",
        {"ksqlpy_figures_age_seconds": "0+60x30"},
        {},
    ),
    Alert(
        "KsqlpyJvmDied",
        "increase(ksqlpy_jvm_restarts_total[30m]) > 0",
        "0m",
        "warning",
        "Spark's JVM has died and was started again.",
        {"ksqlpy_jvm_restarts_total": "0x5 1x25"},
        {},
    ),
    Alert(
        "KsqlpyHeapFull",
        "ksqlpy_jvm_heap_used_bytes / ksqlpy_jvm_heap_max_bytes > 0.95",
        "10m",
        "warning",
        "The heap of Spark's JVM is nearly full; `ksqlpy.spark.memory` is its size.",
        {"ksqlpy_jvm_heap_used_bytes": "98x30", "ksqlpy_jvm_heap_max_bytes": "100x30"},
        {},
    ),
    Alert(
        "KsqlpyDiskFull",
        "ksqlpy_data_free_bytes < 1e9",
        "5m",
        "critical",
        "The disk with the data folder has less than 1 GB of room.",
        {"ksqlpy_data_free_bytes": "1000x30"},
        {},
    ),
    Alert(
        "KsqlpyAuditLost",
        "increase(ksqlpy_audit_lines_lost_total[15m]) > 0",
        "0m",
        "critical",
        "Lines of the audit log were not written ({{ $labels.place }}); the server's log says why.",
        {'ksqlpy_audit_lines_lost_total{place="file"}': "0+1x30"},
        {"place": "file"},
    ),
]
"""Extension point: the rules."""


def metrics_of(expr: str) -> set[str]:
    """The names of this server's metrics in an expression of PromQL."""
    return {re.sub("_bucket$", "", name) for name in re.findall(rf"\b{PREFIX}\w+", expr)}


def alerts() -> str:
    """The rules as YAML."""
    lines = ["# Written by `make docs` from docs/monitoring.py; not to be edited.", "groups:", "  - name: ksqlpy"]
    lines.append("    rules:")
    for a in ALERTS:
        lines += [
            f"      - alert: {a.name}",
            f"        expr: {json.dumps(a.expr)}",
            f"        for: {a.holds}",
            "        labels:",
            f"          severity: {a.severity}",
            "        annotations:",
            f"          summary: {json.dumps(a.summary)}",
        ]
    return "\n".join(lines) + "\n"


_WIDTH, _HEIGHT, _ACROSS = 8, 7, 24

_TITLES = {f.metric.name: f.title for f in FIGURES if f.metric is not None} | {"query_lag_seconds": "Lag in time"}


def dashboard() -> str:
    """The dashboard as JSON, a panel a metric."""
    parts = (
        ("Queries", list(query_metrics()), '{query=~"$query"}'),
        ("Engine", ENGINE_METRICS, ""),
        ("Server", SERVER_METRICS, ""),
    )
    panels: list[dict[str, Any]] = []
    y = 0
    for title, metrics, chosen in parts:
        place = {"x": 0, "y": y, "w": _ACROSS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        shown = [m for m in metrics if m.name not in ("info", "query_info")]
        for n, m in enumerate(shown):
            place = {
                "x": n * _WIDTH % _ACROSS,
                "y": y + 1 + n * _WIDTH // _ACROSS * _HEIGHT,
                "w": _WIDTH,
                "h": _HEIGHT,
            }
            panels.append({"id": len(panels) + 1, "gridPos": place, **_panel(m, chosen)})
        y += 1 + -(-len(shown) * _WIDTH // _ACROSS) * _HEIGHT
    source = {"type": "prometheus", "uid": "${source}"}
    made = {
        "title": "ksqlpy",
        "uid": "ksqlpy",
        "schemaVersion": 39,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "query",
                    "type": "query",
                    "datasource": source,
                    "query": f"label_values({PREFIX}query_info, query)",
                    "refresh": 2,
                    "multi": True,
                    "includeAll": True,
                    "allValue": ".*",
                },
            ]
        },
        "panels": panels,
    }
    return json.dumps(made, indent=1) + "\n"


def _panel(metric: Metric[Any], chosen: str) -> dict[str, Any]:
    name = metric.full_name
    expr, unit = f"{name}{chosen}", "short"
    if metric.kind is Kind.HISTOGRAM:
        expr, unit = f"histogram_quantile(0.99, rate({name}_bucket{chosen}[$__rate_interval]))", "s"
    elif metric.kind is Kind.COUNTER:
        expr = f"rate({expr}[$__rate_interval])"
        unit = "percentunit" if "seconds" in name else "ops"
    elif name.endswith("_timestamp_seconds"):
        expr, unit = f"time() - {expr}", "s"
    elif name.endswith("_seconds"):
        unit = "s"
    elif name.endswith("_bytes"):
        unit = "bytes"
    labels = [n for n in (("query", *metric.labels) if chosen else metric.labels) if n != "le"]
    words = (
        metric.name.removeprefix("query_").removesuffix("_total").removesuffix("_seconds").removesuffix("_timestamp")
    )
    return {
        "type": "timeseries",
        "title": _TITLES.get(metric.name) or words.replace("_", " ").capitalize(),
        "description": metric.help,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"refId": "A", "expr": expr, "legendFormat": " ".join(f"{{{{{n}}}}}" for n in labels)}],
    }


FILES = {"alerts.yml": alerts, "dashboard.json": dashboard}
"""What is written into the folder."""


def main() -> None:
    """Writes the files."""
    for name, text in FILES.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
