"""Alert rules and dashboard of examples/monitoring: up to date, of metrics that there are, and each rule fires.

``tests/server/test_alerts.py`` has the rules fire by what a server tells.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.figures import ENGINE_METRICS, SERVER_METRICS, query_metrics
from tests.support import promql
from tests.support.monitoring import FOLDER, MADE

LABELS = {m.full_name: {"query", *m.labels} for m in query_metrics()}
OF_SCRAPES = {"instance", "job"}
"""Labels that Prometheus gives to all that it scrapes."""

LABELS |= {m.full_name: set(m.labels) for m in (*ENGINE_METRICS, *SERVER_METRICS)}


@pytest.mark.parametrize("name", MADE.FILES)
def test_files_are_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == MADE.FILES[name](), "run make docs"


def wrong(expr: str) -> list[str]:
    """What an expression names that there is not: metrics, and labels within their braces."""
    found = [m for m in MADE.metrics_of(expr) if m not in LABELS]
    for metric, braces in re.findall(r"(ksqlpy_\w+?)(?:_bucket)?\{([^}]*)\}", expr):
        named = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", braces)
        found += [f"{metric} {label}" for label in named if label not in LABELS.get(metric, ())]
    named = {label for m in MADE.metrics_of(expr) for label in LABELS.get(m, ())} | OF_SCRAPES
    for labels in re.findall(r"\b(?:on|without|by) \(([^)]*)\)", expr):
        found += [f"no {label}" for label in re.split(r", *", labels) if label not in named]
    return found


def test_what_is_wrong_is_seen() -> None:
    assert wrong('ksqlpy_query_lag_records{query="q"} > 0 and ksqlpy_ready == 1') == []
    assert wrong('rate(ksqlpy_query_rows[5m]) and ksqlpy_query_state{status="RUNNING"} == 1') == [
        "ksqlpy_query_rows",
        "ksqlpy_query_state status",
    ]
    assert wrong("sum without (reason) (ksqlpy_query_restarts_total) > 0") == ["no reason"]


def test_rules_name_metrics_that_there_are() -> None:
    assert [(a.name, *wrong(text)) for a in MADE.ALERTS for text in (a.expr, *a.series) if wrong(text)] == []
    assert len({a.name for a in MADE.ALERTS}) == len(MADE.ALERTS) > 10


def test_the_dashboard_shows_each_metric_once() -> None:
    panels = [
        p for p in json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))["panels"] if "targets" in p
    ]
    exprs = [t["expr"] for p in panels for t in p["targets"]]
    assert [e for e in exprs if wrong(e)] == []
    shown = [m for e in exprs for m in MADE.metrics_of(e)]
    assert sorted(shown) == sorted(LABELS.keys() - {"ksqlpy_info", "ksqlpy_query_info"})
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels]
    assert len(set(places)) == len(places) and len({p["title"] for p in panels}) == len(panels)


def promtool(*arguments: str, cwd: Path) -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("there is no promtool")
    done = subprocess.run([found, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_the_configuration() -> None:
    said = promtool("check", "config", "prometheus.yml", cwd=FOLDER)
    assert f"{len(MADE.ALERTS)} rules found" in said


@pytest.mark.parametrize("alert", MADE.ALERTS, ids=lambda alert: str(alert.name))
def test_each_rule_fires(alert: Any) -> None:
    """By the values of its table, and not by none."""
    samples, rule = promql.series_of(alert.series), promql.Rule(alert.name, alert.expr, alert.holds)
    fired = [rule.firing(samples, 60 * minute) for minute in range(promql.seconds(alert.at) // 60 + 1)]
    assert fired[0] == [] and fired[-1] == [alert.of]
    assert not rule.firing(promql.Samples(), 0)


def test_each_rule_fires_in_prometheus(tmp_path: Path) -> None:
    """As above: so what is tried without Prometheus is what it does."""
    shutil.copy(FOLDER / "alerts.yml", tmp_path)

    def told(alert: Any, *, fires: bool) -> dict[str, Any]:
        summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda m: alert.of[m[1]], alert.summary)
        labels = {**alert.of, "severity": alert.severity}
        fired = [{"exp_labels": labels, "exp_annotations": {"summary": summary}}] if fires else []
        return {
            "name": f"{alert.name} {fires}",
            "interval": "1m",
            "input_series": [{"series": s, "values": v} for s, v in alert.series.items()] if fires else [],
            "alert_rule_test": [{"eval_time": alert.at, "alertname": alert.name, "exp_alerts": fired}],
        }

    cases = [told(a, fires=fires) for a in MADE.ALERTS for fires in (True, False)]
    test = {"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "test.yml").write_text(json.dumps(test), encoding="utf-8")  # JSON is YAML
    promtool("test", "rules", "test.yml", cwd=tmp_path)
