"""Runs the queries of an engine: what it consists of, from its start to its end."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from ksqlpy.catalog import Catalog, PersistentQuery, Source
from ksqlpy.plan.stored import Kept
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.cluster.choice import Cluster, cluster_of
from ksqlpy.runtime.driver import Driver
from ksqlpy.runtime.internal import may_read
from ksqlpy.runtime.position import Offsets, position
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.query_specs import Planned, QuerySpecs
from ksqlpy.runtime.recovery.restart import Restart
from ksqlpy.runtime.recovery.suspects import Suspects
from ksqlpy.runtime.recovery.watch import Watch
from ksqlpy.runtime.scratch import Scratch
from ksqlpy.spark.figures import function_failures, load_function
from ksqlpy.spark.masters import on_one_machine
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.session import left_over
from ksqlpy.udfs.definition import Definition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Supervisor"]


class Supervisor:
    """The queries of one engine, and what they run in."""

    queries: Queries
    _cluster: Cluster

    def __init__(self, brokers: Brokers, progress: Callable[[str], None]) -> None:
        self._brokers = brokers
        self._progress = progress
        self._paused_at: dict[str, float] = {}
        self._scratch = Scratch(lambda: self.session, self.shared_folder)
        self.driver = Driver(brokers, progress)
        self.specs = QuerySpecs(brokers, lambda query_id: self.queries.checkpoints.folder(query_id))
        self.suspects = Suspects()

    @property
    def session(self) -> SparkSession:
        """Spark."""
        return self.driver.session

    def load_function(self, definition: Definition) -> None:
        """Has a worker load a function in Python before it is called, where the calls are made on this machine."""
        if self.driver.there.is_set() and on_one_machine(self._brokers.config.get("ksqlpy.spark.master")):
            load_function(self.session, definition.to_call("init" if definition.kind == "AGGREGATE" else ""))

    def function_failures(self) -> list[dict[str, Any]]:
        """What is to be told of functions in Python since the last look; nothing while a JVM is started."""
        return function_failures(self.session) if self.driver.there.is_set() else []

    # ------------------------------------------------------------ life

    def start(self, folder: Path, stack: ExitStack) -> None:
        """Starts Spark in a folder; ``stack`` ends it. Raises EnvironmentProblem."""
        config, driver = self._brokers.config, self.driver
        self.suspects.keep_in(folder / "suspects.json")
        left = left_over(folder / "spark")
        if any(w.state == "works" for w in left):
            self.suspects.died(left, own=False)  # whoever ended the server may have been out of memory
        driver.start(folder / "spark", stack)
        self.function_failures()  # an engine that this process had before has told its own
        given = config.get("ksqlpy.checkpoint.dir")
        # Services may share the folder, and number their queries alike.
        checkpoints = f"{given or folder / 'checkpoints'}/{config.get('ksql.service.id')}"
        master, readable = config.get("ksqlpy.spark.master"), partial(may_read, config=config)
        self.queries = Queries(driver.session, master, checkpoints, readable, self.suspects.problem)
        self._cluster = cluster_of(self._brokers, driver, self.queries, self.specs, self._scratch, self._progress)
        stack.callback(self._cluster.spare.close)
        stack.callback(self.queries.stop_all)
        self._cluster.executors.check(checkpoints, self._progress)

    def wait_for(self, connecting: Thread, foreseen: Callable[[], Sequence[Planned]], stack: ExitStack) -> None:
        """Waits until ``connecting`` has the service, as :meth:`Standby.wait`."""
        self._cluster.standby.wait(connecting, foreseen, stack)

    def admit(self, stack: ExitStack) -> None:
        """Lets queries write by the register of producers; ``stack`` ends what answers those of executors."""
        register = self._brokers.register
        self.queries.register = register
        if register is not None:
            self._cluster.executors.admit(register, stack)

    def watch(
        self,
        stack: ExitStack,
        lock: AbstractContextManager[object],
        run_all: Callable[[], None],
        query_ids: Callable[[], set[str]],
    ) -> None:
        """Watches over JVM and queries until ``stack`` closes.

        ``lock``: that of the catalog; ``run_all``: starts those that do not run; ``query_ids``: see :class:`Watch`.
        """
        restart = Restart(self.driver, self.queries, self.suspects, self._cluster, lock, run_all)
        Watch(self._brokers, restart, query_ids).start(stack)
        if not self._brokers.standing_by.is_set():
            stack.callback(self._scratch.close)
            self._cluster.warm_ups.begin(lambda: bool(self.queries.all()))
            stack.callback(self._cluster.warm_ups.stop)

    @contextlib.contextmanager
    def starting(self, lock: AbstractContextManager[object]) -> Iterator[None]:
        """The lock, for who may start queries: while a JVM starts it is waited for, without the lock."""
        while True:
            self.driver.there.wait()
            with lock:
                if self.driver.there.is_set():
                    yield
                    return

    # ------------------------------------------------------------ queries

    def run(self, query: PersistentQuery, kept: Kept, sink: Source) -> None:
        """Starts a persistent query, or lets it go on from its checkpoint; later, if others are to be tried first."""
        if not self.suspects.waits(query.id):
            self.queries.start(self.specs.persistent(query, kept, sink))

    def shared_folder(self) -> str | None:
        """A new folder that executors on other machines reach; None where all tasks run on this one."""
        if on_one_machine(self._brokers.config.get("ksqlpy.spark.master")):
            return None
        return self.queries.checkpoints.folder(f"transient_pull_{uuid.uuid4().hex[:12]}")

    def pause(self, query_id: str) -> None:
        """Stops a query, whose state stays."""
        self._paused_at[query_id] = time.time()
        self.queries.stop(query_id, forget=False)

    def position(self, query: PersistentQuery, begins: Offsets) -> Offsets:
        """The next offsets that a query reads, see :func:`ksqlpy.runtime.position.position`."""
        return position(self.queries, query, begins)

    def status(self, query_id: str, catalog: Catalog) -> QueryStatus:
        """The status of a query; since when it is paused is known of this engine's life only."""
        if ("query", query_id) in catalog.blocked:
            return QueryStatus(State.ERROR, None)
        query = catalog.queries.get(query_id)
        if query is not None and query.paused:
            return QueryStatus(State.PAUSED, self._paused_at.get(query_id))
        return self.queries.status(query_id)
