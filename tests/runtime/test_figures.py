"""Figures of queries: how counts of several JVMs add up, and how people read them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.figures import FIGURES, Counts, Latency, Seen, Wait, lag_text, latency_text
from ksqlpy.figures.counts import MERGES
from ksqlpy.spark import figures

DAY = 86_400_000


@pytest.mark.parametrize(("lag", "text"), [(None, "-"), (0, "0"), (12_345, "12,345")])
def test_lag(lag: int | None, text: str) -> None:
    assert lag_text(lag) == text


@pytest.mark.parametrize(
    ("p50", "p99", "most", "text"),
    [
        (3, 15, 1_200, "p50 3 ms, p99 15 ms, at most 1,200 ms"),
        (3, DAY - 1, 31 * DAY, "p50 3 ms, p99 86,399,999 ms, at most -"),  # a few old events among new ones
        (31 * DAY, 31 * DAY, 31 * DAY, "- (event times are over a day old)"),
    ],
)
def test_latency(p50: int, p99: int, most: int, text: str) -> None:
    assert latency_text(Latency(p50, p99, most)) == text


def test_latency_is_that_of_a_histogram() -> None:
    assert Counts(took={4: 97, 20: 3}).latency == Latency(4, 20, 20)
    assert Counts(took={20: 1, 4: 99}).latency == Latency(4, 4, 20)
    assert Counts(took={7: 1}).latency == Latency(7, 7, 7)
    assert Counts().latency is None


def report(**told: Any) -> dict[str, Any]:
    """What one JVM says of a query, as jvm/metrics/Figures.java."""
    return {"sums": {}, "lags": {}, "leads": {}, "ages": {}, "latency": {}, "waiting": None, **told}


def test_the_counts_of_all_jvms_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "here": report(sums={"late": 1}),
        "gone": {"consumed:s": 100, "failed": 2},
        "executors": {
            "1": report(
                sums={"consumed:s": 5, "sent:out": 4, "late": 2, "took:10": 60, "took:sum": 60},
                lags={"s-0": 90, "s-1": 1},
                leads={"s-0": 3},
                ages={"s-0": 20, "s-1": 0},
                latency={"1": 60},
                waiting={"partition": "s-1", "since": 2000},
            ),
            "2": report(
                sums={
                    "consumed:s": 7,
                    "consumed:t": 1,
                    "sent:out": 6,
                    "took:10": 1,
                    "took:1000": 39,
                    "took:sum": 35,
                },
                lags={"s-0": 2},
                leads={"s-0": 91},
                ages={"s-0": 1},
                latency={"1": 1, "900": 39},
                waiting={"partition": "t-0", "since": 1000},
            ),
        },
    }
    jvm: Any = SimpleNamespace(ksqlpy=SimpleNamespace(metrics=SimpleNamespace(Figures=SimpleNamespace())))
    jvm.ksqlpy.metrics.Figures.read = lambda query_id: json.dumps(told)
    monkeypatch.setattr(figures, "jvm_of", lambda session: jvm)
    session: Any = None
    found = figures.counts(session, "q")
    assert found == Counts(
        consumed={"s": 112, "t": 1},
        sent={"out": 10},
        late=3,
        failed=2,
        lags={"s-0": Seen(2, 1), "s-1": Seen(1, 0)},
        leads={"s-0": Seen(91, 1)},
        durations={"10": 61, "1000": 39, "sum": 95},
        took={1: 61, 900: 39},
        waiting=Wait("t-0", 1000),
        executors=found.executors,
    )
    assert (found.lag, found.latency) == (3, Latency(1, 900, 900))
    assert {name: (sum(e.consumed.values()), e.lag) for name, e in found.executors.items()} == {
        "1": (5, 91),
        "2": (8, 2),
    }
    assert figures.read_up_to(session, "q", {"s": {"0": 1000, "1": 0}, "t": {"0": 0}}) == {"s": {"0": 1091}, "t": {}}


def test_who_cannot_be_asked_has_counted_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(session: Any) -> Any:
        raise OSError("no JVM")

    monkeypatch.setattr(figures, "jvm_of", gone)
    session: Any = None
    assert figures.counts(session, "q") == Counts()
    assert figures.read_up_to(session, "q", {"s": {"0": 0}}) == {}


def test_an_unasked_consumer_tells_least() -> None:
    """Without anything known a consumer is the oldest; the order of JVMs makes no difference."""
    idle, busy = Counts(lags={"s-0": Seen(1700)}), Counts(lags={"s-0": Seen(3, 60)})
    assert (idle + busy).lag == (busy + idle).lag == 3


def test_each_figure_adds_up_by_the_rule_of_a_count() -> None:
    assert {f.counted for f in FIGURES} - {None} <= MERGES.keys()
    assert all(f.meaning and f.title for f in FIGURES)
