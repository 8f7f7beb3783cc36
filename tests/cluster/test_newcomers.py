"""Executors that come while queries run: when they get tasks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksqlpy.spark.newcomers import LONGEST, admit, held


class Newcomers:
    """The driver's side; executors come before the engine looks."""

    def __init__(self, waiting: dict[str, dict[str, Any]]) -> None:
        self.waiting = waiting
        self.holding = False
        self.preparing: bool | None = None

    def hold(self) -> None:
        self.holding = True

    def prepare(self, wanted: bool) -> None:
        self.preparing = wanted

    def held(self) -> str:
        return json.dumps(self.waiting)

    def admit(self, executor: str) -> None:
        del self.waiting[executor]


class Session:
    """A session whose driver holds back what a test says."""

    def __init__(self, newcomers: Newcomers) -> None:
        self._jvm = type("Jvm", (), {})()
        self._jvm.ksqlpy = type("Package", (), {})()
        self._jvm.ksqlpy.cluster = type("Package", (), {})()
        self._jvm.ksqlpy.cluster.Newcomers = newcomers


@pytest.mark.parametrize(
    ("needed", "at_rest", "prepared", "seconds", "still_held"),
    [
        pytest.param(False, False, False, 5.0, True, id="queries recover: it waits"),
        pytest.param(False, True, False, 5.0, True, id="queries run: it prepares"),
        pytest.param(False, True, True, 5.0, False, id="it is prepared"),
        pytest.param(False, False, True, 5.0, False, id="it was prepared before a query failed"),
        pytest.param(True, False, False, 0.1, False, id="queries lack its task slots"),
        pytest.param(False, False, False, LONGEST + 1, False, id="a query does not come to rest"),
    ],
)
def test_when_an_executor_gets_tasks(
    needed: bool, at_rest: bool, prepared: bool, seconds: float, still_held: bool
) -> None:
    newcomers = Newcomers({"7": {"prepared": prepared, "seconds": seconds}})
    session: Any = Session(newcomers)
    admit(session, needed=needed, at_rest=at_rest)
    assert newcomers.holding, "those that come later wait, too"
    assert newcomers.preparing is at_rest, "recovering queries have the cores to themselves"
    assert held(session) == ({"7"} if still_held else set())


def test_no_executor_waits() -> None:
    newcomers = Newcomers({})
    session: Any = Session(newcomers)
    admit(session, needed=False, at_rest=True)
    assert newcomers.holding and newcomers.preparing is None
    assert held(session) == frozenset()
