"""The queries that run: start, stop, status, figures."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.figures import Counts
from ksqlpy.plan import Plan
from ksqlpy.runtime.internal import query_problem
from ksqlpy.runtime.starts import Starts
from ksqlpy.runtime.task_slots import TaskSlots
from ksqlpy.spark.checkpoints import Checkpoints
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.fencing import ProducerRegister
from ksqlpy.spark.figures import counts, forget_figures
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.upstream import announce, tell_failing, withdraw
from ksqlpy.spark.writers import writers_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Queries"]

log = logging.getLogger(__name__)

_STOPPING = 40.0
"""Seconds for which all queries together are waited for when the engine stops."""


class Queries:
    """All queries of one Spark session, persistent and transient."""

    def __init__(
        self,
        session: SparkSession,
        master: str,
        checkpoints: str,
        readable: Callable[[str], bool],
        held: Callable[[str], KsqlError | None] = lambda query_id: None,
    ) -> None:
        """``readable``: whether queries may read a topic; ``held``: why a query must not start."""
        self.session = session
        self.checkpoints = Checkpoints(session, checkpoints)
        self.task_slots = TaskSlots(master, lambda: self.session)
        self._readable = readable
        self._held = held
        self.register: ProducerRegister | None = None
        """Where producers of persistent queries are noted; to be set before the first starts."""
        self._running: dict[str, RunningQuery] = {}
        self._replaced: set[str] = set()
        """Ids of queries that are stopped, to be recreated at once."""
        self._starts = Starts()
        self._lock = threading.Lock()
        self.start_limit = StartLimit()
        self._gone: float | None = None

    def check_room(
        self, plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int, *, instead_of: str | None = None
    ) -> None:
        """Refuses a query whose tasks would not all run at once: it would starve, silently.

        ``instead_of``: the id of a query whose slots it gets. Raises EngineProblem ``no-slots``.
        """
        taken = sum(self.task_slots.of(q.spec) for q in self.all() if not q.refused and q.spec.id != instead_of)
        self.task_slots.check(self.task_slots.needed(plan, partitions, shuffle_partitions), taken)

    @property
    def all_live(self) -> bool:
        """Whether all queries have their tasks; of one that has failed it is not known yet whether it will again."""
        return all(q.state is State.RUNNING or q.live.is_set() for q in self.all())

    @property
    def settled(self) -> bool:
        """Whether all queries run but those that are refused or fail, which need not come to run at all."""
        return all(q.status.failed or q.state is State.RUNNING or q.live.is_set() for q in self.all())

    @property
    def slots(self) -> int:
        """The task slots that all queries together need."""
        return sum(self.task_slots.of(q.spec) for q in self.all())

    @property
    def refused(self) -> bool:
        """Whether any query waits for room."""
        return any(q.refused for q in self.all())

    def all(self) -> list[RunningQuery]:
        """All of them."""
        with self._lock:
            return list(self._running.values())

    def start(self, spec: QuerySpec) -> RunningQuery:
        """Starts a query, or recreates it if it runs; it reports its state by itself.

        One that does not fit, as a topic has more partitions now or the server fewer slots, is in ERROR until it does;
        one that writes an internal topic, or reads one and must not, stays in ERROR.
        """
        if (running := self.get(spec.id)) is not None:
            self._replaced.add(spec.id)
            replaced = running.spec.plan != spec.plan and running.state is State.RUNNING
            running.stop()
            if replaced:  # records since the last checkpoint are not the new plan's, which would give other results
                try:
                    before = replace(running.spec, before=None)
                    until = Kafka(spec.connection).offsets(spec.partitions, latest=True, committed=before.committed)
                    spec = replace(spec, before=replace(before, until=until))
                except KsqlError as e:  # the command is logged, so the new plan must start all the same
                    log.warning("query %s: records since the last checkpoint are read by the new plan: %s", spec.id, e)
        # Nobody but this engine writes the topic of a push query.
        register = None if isinstance(spec.sink, str) else self.register
        query = RunningQuery(self.session, spec, self._report, self.start_limit, writers_of(self.session, register))
        problem = self._problem(spec)
        if problem is not None:
            query.refuse(problem)
        self._starts.begin(spec.id)
        with self._lock:
            self._running[spec.id] = query
            self._replaced.discard(spec.id)
        if query.refused:
            self._starts.seen(spec.id, State.ERROR)
            withdraw(self.session, spec.id)
        else:
            announce(self.session, spec)
            query.start()
        return query

    def _report(self, query: RunningQuery) -> None:
        self._starts.seen(query.spec.id, query.state)
        if query.refused:
            log.error("query %s: %s", query.spec.id, query.error)
            return
        log.info("query %s is %s", query.spec.id, query.state)
        if query.state is State.RUNNING:
            tell_failing(self.session, query.spec.id, None)
        elif query.state is State.RETRYING:
            tell_failing(self.session, query.spec.id, query.failures[-1])

    def _problem(self, spec: QuerySpec) -> KsqlError | None:
        """Why the query cannot start now."""
        sink = None if isinstance(spec.sink, str) else spec.sink.topic
        problem = self._held(spec.id) or query_problem(spec.plan, sink, readable=self._readable)
        if problem is not None:
            return problem
        try:
            self.check_room(spec.plan, spec.partitions, spec.shuffle_partitions, instead_of=spec.id)
        except EngineProblem as e:
            return e
        return None

    def start_refused(self) -> None:
        """Starts queries that did not fit, if they do now."""
        for query in self.all():
            if query.refused and self._problem(query.spec) is None:
                with self._lock:
                    self._running.pop(query.spec.id, None)
                self.start(query.spec)

    def stop(self, query_id: str, *, forget: bool) -> None:
        """Stops a query; ``forget``: its checkpoint goes too, so that it can never go on."""
        with self._lock:
            query = self._running.pop(query_id, None)
        self._starts.seen(query_id, State.STOPPED)
        if query is not None:
            query.stop(forget=forget)
            withdraw(self.session, query_id)
        if forget:
            forget_figures(self.session, query_id)
            self.checkpoints.remove(query_id)

    def stop_all(self) -> None:
        """Stops all queries side by side; their checkpoints stay."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
            self._gone = None
        threads = [threading.Thread(target=q.stop, name=f"stop {q.spec.id}", daemon=True) for q in running]
        for t in threads:
            t.start()
        until = time.monotonic() + _STOPPING
        for t in threads:
            t.join(max(0.0, until - time.monotonic()))
        for query in running:  # another engine of this process has ids and topics of its own
            withdraw(self.session, query.spec.id)
            forget_figures(self.session, query.spec.id)

    def abandon(self) -> None:
        """Forgets all queries, whose JVM is gone."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
        for query in running:
            query.abandon()
        self._gone = time.time()
        self.start_limit = StartLimit()  # those of their threads end when they see it

    def note_sinks(self, kafka: Kafka) -> None:
        """Notes where the sinks of queries end that have committed a batch since the last time."""
        for query in self.all():
            try:
                query.note_sink(kafka)
            except KsqlError as e:
                log.warning("query %s: the end of its sink is not noted: %s", query.spec.id, e)

    def tell(self, trouble: Exception) -> None:
        """Takes down, for all that run, what may be why they come no further: brokers that do not answer, mostly."""
        failure = failure_of(trouble)
        for query in self.all():
            if query.error is None:  # others have their own reason
                query.tell(failure)

    def use(self, session: SparkSession) -> None:
        """Takes another session from now on; all queries must have ended or be abandoned."""
        self.session = session
        self.checkpoints.use(session)

    def get(self, query_id: str) -> RunningQuery | None:
        """The running query of that id."""
        with self._lock:
            return self._running.get(query_id)

    def status(self, query_id: str) -> QueryStatus:
        """Its status; while Spark's JVM is recreated, all recover."""
        query = self.get(query_id)
        if query is not None:
            return QueryStatus(State.RECOVERING) if query_id in self._replaced else query.status
        return QueryStatus(State.ERROR, None) if self._gone is None else QueryStatus(State.RECOVERING, self._gone)

    def counts(self, query_id: str) -> Counts:
        """Live counts of a query, of all JVMs."""
        return counts(self.session, query_id)
