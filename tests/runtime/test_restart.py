"""A death of Spark's JVM: its queries are started again in another one, though brokers are away meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem, EnvironmentProblem
from ksqlpy.runtime.catalog_service import CatalogLock
from ksqlpy.runtime.recovery import watch
from ksqlpy.runtime.recovery.restart import Restart
from ksqlpy.runtime.recovery.suspects import Suspects
from ksqlpy.runtime.recovery.watch import Watch
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark import checkpoints
from ksqlpy.spark.checkpoints import Checkpoints


class Queries:
    """Takes down what it is asked."""

    slots = 3

    def __init__(self) -> None:
        self.told: list[str] = []
        self.done: list[str] = []

    def abandon(self) -> None:
        self.done.append("abandoned")

    def use(self, session: object) -> None:
        self.done.append(f"in {session}")

    def stop_all(self) -> None:
        self.done.append("stopped")

    def tell(self, trouble: Exception) -> None:
        self.told.append(str(trouble))


class Driver:
    """A JVM that is dead until it is started again, which ``starting`` is called for."""

    exited = False

    def __init__(self, starting: Callable[[], None] = lambda: None) -> None:
        self.dead, self.session, self.starting = True, "the old", starting
        self.there = threading.Event()
        self.there.set()

    def restart(self) -> None:
        self.starting()
        self.dead, self.session = False, "the new"


class Engine:
    """The parts that a death is the matter of. ``hand_over``: whether a standby takes the service."""

    def __init__(self, driver: Driver, run_all: Callable[[], None], *, hand_over: bool = False) -> None:
        nothing: Any = SimpleNamespace(forget=lambda: None, taken=lambda: None, wait_for_slots=self._wait_for_slots)
        cluster: Any = SimpleNamespace(executors=nothing, warm_ups=nothing, spare=nothing)
        self.queries, self.lock, self.waited = Queries(), CatalogLock(), [0]
        given: Any = driver
        queries: Any = self.queries
        self.restart = Restart(given, queries, Suspects(), cluster, self.lock, run_all)
        brokers: Any = SimpleNamespace(lost=False, loss=lambda: "handed over")

        def handed_over() -> bool:
            brokers.lost = hand_over
            return hand_over

        brokers.hand_over = handed_over
        self.watch = Watch(brokers, self.restart, set)

    def _wait_for_slots(self, wanted: int) -> None:
        self.waited.append(wanted)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "WATCH_SECONDS", 0.01)


@pytest.mark.parametrize("away", [0, 1, 2])
def test_queries_start_when_the_brokers_are_back(away: int) -> None:
    """``away``: how often brokers do not answer after the JVM was started again."""
    starts, ran = [], threading.Event()

    def run_all() -> None:
        starts.append(None)
        if len(starts) <= away:
            raise EnvironmentProblem("broker-unavailable", "no broker answers")
        ran.set()

    engine = Engine(Driver(), run_all)
    with ExitStack() as stack:
        engine.watch.start(stack)
        assert ran.wait(20)
    assert len(starts) == away + 1
    assert engine.queries.done == ["abandoned", "in the new"]
    assert engine.queries.told == ["no broker answers"] * away
    assert engine.waited == [0, 3], "the executors have come that the queries need"


def test_a_jvm_is_not_started_again_when_a_standby_takes_over() -> None:
    started: list[str] = []
    engine = Engine(Driver(lambda: started.append("JVM")), lambda: started.append("queries"), hand_over=True)
    with ExitStack() as stack:
        engine.watch.start(stack)
        engine.watch._thread.join(20)
    assert engine.queries.done == ["stopped"]
    assert not started


def test_the_turn_of_changes_is_free_while_a_jvm_starts() -> None:
    begun, may_go_on, events = threading.Event(), threading.Event(), []

    def starting() -> None:
        begun.set()
        assert may_go_on.wait(20)

    driver = Driver(starting)
    engine = Engine(driver, lambda: events.append("all queries start"))
    brokers: Any = SimpleNamespace(config=Config.of({}))
    supervisor: Any = Supervisor(brokers, lambda text: None)
    supervisor.driver = driver

    def create() -> None:
        with supervisor.starting(engine.lock):
            events.append("one more starts")

    restarting = threading.Thread(target=engine.restart.after_death, daemon=True)
    restarting.start()
    assert begun.wait(20)
    creating = threading.Thread(target=create, daemon=True)
    creating.start()
    with engine.lock:  # who ends or pauses a query has no need of a JVM
        events.append("one ends")
    creating.join(0.2)
    may_go_on.set()
    restarting.join(20)
    creating.join(20)
    assert events == ["one ends", "all queries start", "one more starts"]


def test_a_jvm_that_does_not_start_keeps_nobody() -> None:
    def fails() -> None:
        raise EnvironmentProblem("no-memory", "no room for a JVM")

    driver = Driver(fails)
    engine = Engine(driver, lambda: None)
    with pytest.raises(EnvironmentProblem):
        engine.restart.after_death()
    assert driver.there.is_set() and engine.restart.pending
    assert engine.queries.done == ["abandoned"]


def test_a_checkpoint_that_no_jvm_could_remove_goes_with_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[tuple[str, str]] = []

    class Checkpoint:
        def __init__(self, session: str, folder: str) -> None:
            self.session, self.folder = session, folder

        def names(self) -> list[str]:
            return []

        def make(self, mark: str) -> None:
            pass

        def remove(self) -> None:
            if self.session == "the old":
                raise EngineProblem("checkpoint-unusable", "Spark's JVM does not answer")
            removed.append((self.session, self.folder))

    monkeypatch.setattr(checkpoints, "Checkpoint", Checkpoint)
    old: Any = "the old"
    new: Any = "the new"
    found = Checkpoints(old, "/all/")
    found.remove("ENDED")
    found.remove("MADE_ANEW")
    found.reserve("MADE_ANEW", "mark")
    found.use(new)
    found.use(new)
    assert removed == [("the new", "/all/ENDED")]
