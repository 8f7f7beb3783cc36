"""The watch over Spark's JVM: queries of one that was killed are started again, though brokers are away meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.runtime import supervisor
from ksqlpy.runtime.supervisor import Supervisor


class Queries:
    """Takes down what it is asked."""

    slots = 0

    def __init__(self) -> None:
        self.told: list[str] = []
        self.abandoned = 0

    def abandon(self) -> None:
        self.abandoned += 1

    def use(self, session: object) -> None:
        pass

    def tell(self, trouble: Exception) -> None:
        self.told.append(str(trouble))


@pytest.mark.parametrize("away", [0, 1, 2])
def test_queries_start_when_the_brokers_are_back(monkeypatch: pytest.MonkeyPatch, away: int) -> None:
    """``away``: how often brokers do not answer after the JVM was started again."""
    brokers: Any = SimpleNamespace(config=Config.of({}), lost=False, hand_over=lambda: False)
    watched, queries, ended = Supervisor(brokers, lambda phase: None), Queries(), threading.Event()
    made: Any = watched
    made.session, made.queries, made._own_jvm = "killed", queries, Path("spark")
    monkeypatch.setattr(supervisor, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(supervisor, "is_alive", lambda session: session == "alive")
    monkeypatch.setattr(supervisor, "end_session", lambda session: None)
    monkeypatch.setattr(watched, "_new_session", lambda folder: "alive")
    starts: list[float] = []

    def run_all() -> None:
        starts.append(time.monotonic())
        if len(starts) <= away:
            raise EnvironmentProblem("broker-unavailable", "no broker answers")
        ended.set()

    watch = threading.Thread(target=watched._watch, args=(ended, nullcontext(), run_all), daemon=True)
    watch.start()
    watch.join(20)
    assert not watch.is_alive()
    assert len(starts) == away + 1
    assert queries.abandoned == 1
    assert queries.told == ["no broker answers"] * away


def test_a_jvm_is_not_started_again_when_a_standby_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers: Any = SimpleNamespace(config=Config.of({}), lost=False, loss=lambda: "handed over")

    def hand_over() -> bool:
        brokers.lost = True
        return True

    brokers.hand_over = hand_over
    watched, started = Supervisor(brokers, lambda phase: None), []
    made: Any = watched
    made.session, made.queries, made._own_jvm = "killed", SimpleNamespace(stop_all=lambda: None), Path("spark")
    monkeypatch.setattr(supervisor, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(supervisor, "is_alive", lambda session: False)
    monkeypatch.setattr(watched, "_new_session", lambda folder: started.append(folder))
    watch = threading.Thread(
        target=watched._watch, args=(threading.Event(), nullcontext(), lambda: started.append(None)), daemon=True
    )
    watch.start()
    watch.join(20)
    assert not watch.is_alive()
    assert not started
