"""When executors are warmed up: all at a start, those that come later once queries are at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.runtime.cluster.warm_ups import REST, WarmUps
from ksqlpy.spark import rehearsal
from ksqlpy.spark.warmup import WarmUp
from tests.support.waiting import until


@dataclass
class Made:
    """A warm-up that the test ends."""

    busy: Callable[[], bool]
    executors: int
    driver: bool
    rehearsed: Sequence[object] = ()
    ended: bool = False
    complete: bool = False
    events: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.events.append("started")

    def stop(self) -> None:
        self.events.append("stopped")

    def end(self, *, complete: bool = True) -> None:
        self.ended, self.complete = True, complete


class Cluster:
    """Executors and queries as the test sets them, looked at once a second."""

    def __init__(self, *executors: str) -> None:
        self.there, self.at_rest, self.now = frozenset(executors), True, 0.0
        self.made: list[Made] = []
        self.warm_ups = WarmUps(self._make, lambda: self.there, lambda: self.now)  # type: ignore[arg-type]  # Made is none

    def _make(self, busy: Callable[[], bool], executors: int, driver: bool, rehearsed: Sequence[object]) -> Made:
        self.made.append(Made(busy, executors, driver, rehearsed))
        return self.made[-1]

    def look(self, seconds: float) -> int:
        """How many warm-ups were made in all by then."""
        end = self.now + seconds
        while self.now < end:
            self.now += 1
            self.warm_ups.look(lambda spare: self.at_rest)
        return len(self.made)


@pytest.fixture
def warm() -> Cluster:
    """Two executors, which the warm-up of the start has warmed."""
    cluster = Cluster("0", "1")
    cluster.warm_ups.begin(lambda: False)
    assert (cluster.made[0].executors, cluster.made[0].driver) == (2, True)
    cluster.made[0].end()
    return cluster


def test_warm_executors_are_left_alone(warm: Cluster) -> None:
    assert warm.look(10 * REST) == 1


def test_one_that_is_lost_changes_nothing(warm: Cluster) -> None:
    warm.look(5)
    warm.there = frozenset("1")
    assert warm.look(10 * REST) == 1


def test_one_that_comes_is_warmed_after_a_rest(warm: Cluster) -> None:
    warm.look(5)
    warm.there = frozenset("12")
    assert warm.look(REST) == 1
    assert warm.look(2) == 2
    made = warm.made[1]
    assert (made.executors, made.driver, made.events) == (2, False, ["started"])
    made.end()
    assert warm.look(10 * REST) == 2


def test_executors_of_another_driver_are_cold_though_they_have_the_same_ids(warm: Cluster) -> None:
    assert warm.look(5) == 1
    warm.warm_ups.forget()
    assert warm.look(REST + 2) == 2


def test_queries_that_recover_come_first(warm: Cluster) -> None:
    warm.there, warm.at_rest = frozenset("12"), False
    assert warm.look(10 * REST) == 1
    warm.at_rest = True
    assert warm.look(REST - 1) == 1
    assert warm.look(2) == 2
    assert not warm.made[1].busy()
    warm.at_rest = False
    assert warm.made[1].busy()


def test_one_that_ended_early_is_tried_again(warm: Cluster) -> None:
    warm.there = frozenset("12")
    assert warm.look(REST + 2) == 2
    warm.made[1].end(complete=False)
    assert warm.look(REST + 2) == 2, "what kept it from its end has more time to go away"
    assert warm.look(REST) == 3


def test_one_warm_up_at_a_time() -> None:
    cluster = Cluster("0")
    cluster.warm_ups.begin(lambda: False)
    cluster.there = frozenset("012")
    assert cluster.look(10 * REST) == 1
    cluster.made[0].end()
    assert cluster.look(REST + 2) == 2
    cluster.warm_ups.stop()
    assert (cluster.made[0].events, cluster.made[1].events) == (["started"], ["started", "stopped"])


def test_executors_of_a_start_that_queries_cut_short_are_warmed_later() -> None:
    cluster = Cluster("0", "1")
    cluster.warm_ups.begin(lambda: True)
    cluster.made[0].end(complete=False)
    assert cluster.look(2 * REST + 2) == 2
    assert not cluster.made[1].driver


class Standby(Cluster):
    """A cluster that stands by, and the names of the queries that it would take over."""

    def __init__(self, *executors: str) -> None:
        super().__init__(*executors)
        self.queries = ["q1"]
        self.over = False

    def stand_by(self) -> bool:
        """Whether it is ready."""
        return self.warm_ups.stand_by(lambda: self.over, lambda: self.queries)  # type: ignore[arg-type,return-value]  # names


def test_a_standby_is_ready_when_its_queries_are_rehearsed() -> None:
    standby = Standby("0", "1")
    assert not standby.stand_by() and standby.made == [], "executors may still come"
    assert not standby.stand_by()
    [made] = standby.made
    assert (made.executors, made.driver, made.rehearsed) == (2, True, ["q1"])
    assert not standby.stand_by(), "it is not at its end"
    made.end()
    assert standby.stand_by() and standby.stand_by() and len(standby.made) == 1
    standby.over = True
    assert made.busy()


@pytest.fixture
def ready() -> Standby:
    """A standby with two executors and one query, which is rehearsed."""
    standby = Standby("0", "1")
    while not standby.made:
        standby.stand_by()
    standby.made[0].end()
    assert standby.stand_by()
    return standby


def test_a_standby_rehearses_all_again_on_other_executors(ready: Standby) -> None:
    ready.there = frozenset("012")
    assert not ready.stand_by() and not ready.stand_by()
    assert (ready.made[1].executors, ready.made[1].rehearsed) == (3, ["q1"])
    ready.made[1].end()
    assert ready.stand_by()


def test_a_standby_rehearses_a_new_query_alone(ready: Standby) -> None:
    ready.queries = ["q1", "q2"]
    assert not ready.stand_by() and not ready.stand_by()
    assert ready.made[1].rehearsed == ["q2"]
    ready.made[1].end()
    assert ready.stand_by()


def test_a_standby_stays_ready_when_a_query_is_dropped(ready: Standby) -> None:
    ready.queries = []
    assert not ready.stand_by() and ready.stand_by() and len(ready.made) == 1


def test_a_query_that_cannot_be_rehearsed_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def one(session: object, spec: SimpleNamespace, checkpoint: str, enough: object) -> None:
        tried.append(spec.id)
        if spec.id == "gone":
            raise EnvironmentProblem("no-topic", "there is no topic t")

    monkeypatch.setattr(rehearsal, "_rehearse", one)
    specs = [SimpleNamespace(id="gone"), SimpleNamespace(id="there")]
    rehearsal.rehearse(None, specs, "folder", lambda: False)  # type: ignore[arg-type]  # names of queries are enough
    assert tried == ["gone", "there"]


@pytest.mark.spark
def test_executors_alone_need_no_broker(spark: SparkSession, tmp_path: Path) -> None:
    """Only the driver's part reads a topic."""
    folders: list[Path] = []

    @contextmanager
    def folder() -> Iterator[str]:
        with scratch_folder("warm-", tmp_path) as made:
            folders.append(made)
            yield str(made)

    warm_up = WarmUp(spark, KafkaConnection("127.0.0.1:1"), "commands", folder, executors=2, driver=False)
    warm_up.start()
    assert until(lambda: warm_up.ended), "it does not end"
    assert warm_up.complete
    assert len(folders) == 1 and not folders[0].exists()
