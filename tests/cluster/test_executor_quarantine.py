"""Executors that come while queries run: when they get tasks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.spark.executor_quarantine import LONGEST, REPLACED_AFTER, Replacements, admit, held


class ExecutorQuarantine:
    """The driver's side; executors come before the engine looks."""

    def __init__(self, waiting: dict[str, dict[str, Any]]) -> None:
        self.waiting = waiting
        self.holding = False
        self.preparing: bool | None = None
        self.replaced: list[bool] = []

    def replace(self, wanted: bool) -> None:
        self.replaced.append(wanted)

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

    def __init__(self, quarantine: ExecutorQuarantine) -> None:
        self._jvm = type("Jvm", (), {})()
        self._jvm.ksqlpy = type("Package", (), {})()
        self._jvm.ksqlpy.cluster = type("Package", (), {})()
        self._jvm.ksqlpy.cluster.ExecutorQuarantine = quarantine


@pytest.mark.parametrize(
    ("needed", "live", "prepared", "seconds", "still_held"),
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
    needed: bool, live: bool, prepared: bool, seconds: float, still_held: bool
) -> None:
    quarantine = ExecutorQuarantine({"7": {"prepared": prepared, "seconds": seconds}})
    session: Any = Session(quarantine)
    admit(session, needed=needed, live=live)
    assert quarantine.holding, "those that come later wait, too"
    assert quarantine.preparing is live, "recovering queries have the cores to themselves"
    assert held(session) == ({"7"} if still_held else set())


def test_no_executor_waits() -> None:
    quarantine = ExecutorQuarantine({})
    session: Any = Session(quarantine)
    admit(session, needed=False, live=True)
    assert quarantine.holding and quarantine.preparing is None
    assert held(session) == frozenset()


def test_a_lost_executor_is_replaced_when_queries_have_been_live_for_a_while() -> None:
    quarantine, now = ExecutorQuarantine({}), 100.0
    session: Any = Session(quarantine)
    replacements = Replacements(lambda: now)

    def look(executors: str, *, live: bool = True, needed: bool = False) -> list[bool]:
        """What the cluster was told since the last look, a second ago."""
        nonlocal now
        now += 1
        quarantine.replaced.clear()
        replacements.look(session, frozenset(executors), needed=needed, live=live)
        return list(quarantine.replaced)

    assert look("012") == [False], "none is started by itself from now on"
    assert [look("12", live=False) for _ in range(30)] == [[]] * 30
    waited = [look("12") for _ in range(int(REPLACED_AFTER))]
    assert waited == [[]] * (int(REPLACED_AFTER) - 1) + [[True]]
    assert look("12") == [], "not once a second"
    assert look("12", live=False, needed=True) == [True], "queries without task slots do not wait"
    failing = [look("12", live=False) for _ in range(int(LONGEST) + 1)]
    assert failing == [[]] * int(LONGEST) + [[True]], "a query fails again and again"
    session = Session(quarantine)
    assert look("01", live=False) == [False], "another driver"


@pytest.mark.spark
@pytest.mark.extended("a Spark cluster")
def test_an_executor_that_comes_is_prepared_and_admitted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.cluster.held_executor", str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=500, check=False)
    assert done.stdout.splitlines() == [
        "held back, slots: 1, loaded: False",
        "prepared, slots: 1, loaded: True",
        "admitted, slots: 2, loaded: True",
    ], done.stderr
