"""What an engine does for the executors of its Spark cluster, which come and go at any time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Set
from contextlib import AbstractContextManager, ExitStack
from functools import partial

from ksqlpy.runtime.cluster.spare_driver import NoSpare
from ksqlpy.runtime.cluster.warm_ups import NoWarmUps
from ksqlpy.runtime.driver import Driver
from ksqlpy.runtime.queries import Queries
from ksqlpy.spark.admissions import Admissions
from ksqlpy.spark.executor_quarantine import Replacements, admit, held
from ksqlpy.spark.executors import members, problems, wait_for_slots
from ksqlpy.spark.fencing import ProducerRegister
from ksqlpy.spark.query_status import State

__all__ = ["Executors", "OneMachine", "QuarantinedExecutors", "with_tasks"]

log = logging.getLogger(__name__)

EXECUTORS_SECONDS = 15.0
"""Time in which the executors of a new JVM have to come, before queries are started that may have to wait for them."""


class OneMachine:
    """There are none: all tasks run in the driver's JVM."""

    def __init__(self, driver: Driver, warm_ups: NoWarmUps, spare: NoSpare) -> None:
        self._driver, self._warm_ups, self._spare = driver, warm_ups, spare

    def check(self, checkpoints: str, progress: Callable[[str], None]) -> None:
        """Raises EnvironmentProblem where they cannot run queries; without any, queries wait for them."""

    def admit(self, register: ProducerRegister, stack: ExitStack) -> None:
        """Notes their producers in the register; ``stack`` ends that."""

    def wait_for_slots(self, wanted: int) -> None:
        """Waits, for a while, until they have so many task slots."""

    def look(self, queries: Queries, lock: AbstractContextManager[object]) -> None:
        """To be called about once a second. ``lock``: that of the catalog."""


class Executors(OneMachine):
    """Those of a cluster: queries without room get it when there is some."""

    def check(self, checkpoints: str, progress: Callable[[str], None]) -> None:
        progress("looking at the executors")
        for problem in problems(self._driver.session, checkpoints):
            if problem.code in ("no-executors", "clock-skew"):
                log.warning("%s", problem.render())
            else:
                raise problem

    def admit(self, register: ProducerRegister, stack: ExitStack) -> None:
        admissions = Admissions(lambda: self._driver.session, register)
        admissions.start()
        stack.callback(admissions.stop)

    def wait_for_slots(self, wanted: int) -> None:
        wait_for_slots(self._driver.session, wanted, EXECUTORS_SECONDS)

    def look(self, queries: Queries, lock: AbstractContextManager[object]) -> None:
        if queries.refused:
            with lock:
                queries.start_refused()


class QuarantinedExecutors(Executors):
    """They are made warm before they get tasks, and so is a spare driver."""

    def __init__(self, driver: Driver, warm_ups: NoWarmUps, spare: NoSpare) -> None:
        super().__init__(driver, warm_ups, spare)
        self._replacements = Replacements()

    def look(self, queries: Queries, lock: AbstractContextManager[object]) -> None:
        session = self._driver.session
        lacking = queries.refused or queries.slots > queries.task_slots.capacity
        live = queries.all_live
        admit(session, needed=lacking, live=live)
        there = frozenset(m.id for m in members(session))
        self._replacements.look(session, there, needed=lacking, live=live)
        super().look(queries, lock)
        self._warm_ups.look(partial(_at_rest, queries))
        self._spare.look(at_rest=bool(queries.all()) and _at_rest(queries, 0))


def with_tasks(driver: Driver) -> Set[str]:
    """The ids of the executors that get tasks."""
    return frozenset(m.id for m in members(driver.session)) - held(driver.session)


def _at_rest(queries: Queries, spare: int) -> bool:
    """Whether all queries run, and have so many task slots to spare."""
    running = all(q.state is State.RUNNING and q.live.is_set() for q in queries.all())
    return running and queries.slots + spare <= queries.task_slots.capacity
