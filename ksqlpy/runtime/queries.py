"""The persistent queries that run: start, stop, state, slots, figures."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ksqlpy.catalog import PersistentQuery
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.plan import Plan
from ksqlpy.runtime.internal import query_problem
from ksqlpy.spark.belonging import Belonging
from ksqlpy.spark.checkpoint import Checkpoint
from ksqlpy.spark.checkpoints import Checkpoints, folder_name
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.fencing import ProducerRegister
from ksqlpy.spark.figures import figures, forget_figures, read_up_to
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.masters import local_slots
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.session import at_rest, slots_of
from ksqlpy.spark.spec import QuerySpec, slots
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.topics import widened
from ksqlpy.spark.upstream import announce, tell_failing, withdraw
from ksqlpy.spark.working import Record
from ksqlpy.spark.writers import writers_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Queries"]

log = logging.getLogger(__name__)

_LOOKS, _BETWEEN = 6, 0.005
"""How often a query must be seen at rest before that is believed, and seconds between two looks."""


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
        self._session = session
        self._readable = readable
        self._held = held
        self.register: ProducerRegister | None = None
        """Where producers of persistent queries are noted; to be set before the first starts."""
        self._checkpoints = checkpoints.rstrip("/")
        self._running: dict[str, RunningQuery] = {}
        self._replaced: set[str] = set()
        """Ids of queries that are stopped, to be recreated at once."""
        self._ended: set[str] = set()
        self._lock = threading.Lock()
        self.start_limit = StartLimit()
        self._gone: float | None = None
        self.fixed_slots = local_slots(master)
        """Task slots of a local master; None: those of the executors count."""

    @property
    def capacity(self) -> int:
        """Task slots in all; on a cluster they come and go with the executors."""
        return self.fixed_slots if self.fixed_slots is not None else slots_of(self._session)

    def checkpoint(self, query_id: str) -> str:
        """The checkpoint folder of a query, a path or a URI."""
        return f"{self._checkpoints}/{folder_name(query_id)}"

    def reserve(self, query_id: str, mark: str) -> None:
        """Makes the checkpoint of a query that is about to be made; raises EngineProblem ``checkpoint-exists``."""
        Checkpoints(self._session, self._checkpoints).reserve(query_id, mark, ended=query_id in self._ended)

    def check_room(
        self, plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int, *, instead_of: str | None = None
    ) -> None:
        """Refuses a query whose tasks would not all run at once: it would starve, silently.

        ``instead_of``: the id of a query whose slots it gets. Raises EngineProblem ``no-slots`` with the numbers.
        """
        wanted, capacity = self._needed(plan, partitions, shuffle_partitions), self.capacity
        taken = sum(self._slots(q) for q in self.all() if not q.refused and q.spec.id != instead_of)
        if taken + wanted > capacity:
            more = (
                "start the server with a larger ksqlpy.spark.master, such as local[1024]"
                if self.fixed_slots is not None
                else "give Spark more executors, or executors with more cores"
            )
            raise EngineProblem(
                "no-slots",
                f"the query needs {wanted} task slots, {max(capacity - taken, 0)} of {capacity} are free",
                hint=f"terminate a query, or {more}",
                error_code=40001,
            )

    def fits(self, spec: QuerySpec) -> bool:
        """Whether there are task slots enough for the query if nothing else runs."""
        return self._needed(spec.plan, spec.partitions, spec.shuffle_partitions) <= self.capacity

    @property
    def all_live(self) -> bool:
        """Whether all queries have their tasks; of one that has failed it is not known yet whether it will again."""
        return all(q.state is State.RUNNING or q.live.is_set() for q in self.all())

    @property
    def settled(self) -> bool:
        """Whether all queries run but those that are refused or fail, which need not come to run at all."""
        return all(q.status.failed or q.state is State.RUNNING or q.live.is_set() for q in self.all())

    def _needed(self, plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int) -> int:
        return slots(plan, partitions, shuffle_partitions, cluster=self.fixed_slots is None)

    def _slots(self, query: RunningQuery) -> int:
        return self._needed(query.spec.plan, query.spec.partitions, query.spec.shuffle_partitions)

    @property
    def slots(self) -> int:
        """The task slots that all queries together need."""
        return sum(self._slots(q) for q in self.all())

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
        query = RunningQuery(self._session, spec, self._report, self.start_limit, writers_of(self._session, register))
        problem = self._problem(spec)
        if problem is not None:
            query.refuse(problem)
        with self._lock:
            self._running[spec.id] = query
            self._replaced.discard(spec.id)
        if query.refused:
            withdraw(self._session, spec.id)
        else:
            announce(self._session, spec)
            query.start()
        return query

    def _report(self, query: RunningQuery) -> None:
        if query.refused:
            log.error("query %s: %s", query.spec.id, query.error)
            return
        log.info("query %s is %s", query.spec.id, query.state)
        if query.state is State.RUNNING:
            tell_failing(self._session, query.spec.id, None)
        elif query.state is State.RETRYING:
            tell_failing(self._session, query.spec.id, query.failures[-1])

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
        if query is not None:
            query.stop(forget=forget)
            withdraw(self._session, query_id)
        if forget:
            self._ended.add(query_id)
            forget_figures(self._session, query_id)
            try:
                Checkpoint(self._session, self.checkpoint(query_id)).remove()
            except EngineProblem as e:
                log.warning("%s", e)

    def stop_all(self) -> None:
        """Stops all queries side by side; their checkpoints stay."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
            self._gone = None
        threads = [threading.Thread(target=q.stop, name=f"stop {q.spec.id}", daemon=True) for q in running]
        for t in threads:
            t.start()
        for t in threads:
            t.join(timeout=40)

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

    def take_over(self, owner: Belonging, known: Collection[str], ended: Collection[str]) -> None:
        """Makes sure that the checkpoints are this owner's, and removes those of queries that have ended.

        ``known``: ids of the queries that the command log has, ``ended``: those that it had. Raises EngineProblem.
        """
        checkpoints = Checkpoints(self._session, self._checkpoints)
        checkpoints.claim(owner)
        self._ended.update(ended)
        checkpoints.clean(ended, known)

    def follow_partitions(self, kafka: Kafka) -> None:
        """Starts queries anew, on their checkpoints, whose topics have got more partitions, are gone or were made anew.

        Without that a query over what was one partition would read only the first one (it has no shuffle). Without a
        topic, or over another one of the same name, it fails when it starts, and says so.
        """
        running = [q for q in self.all() if q.live.is_set() and not q.refused]
        found = kafka.partitions({t for q in running for t in (*q.spec.partitions, *q.spec.sink_topics)})
        ids = kafka.topic_ids(found)
        for query in running:
            spec, known = query.spec, query.topics
            gone = [t for t in (*spec.partitions, *spec.sink_topics) if ids.get(t) != known.ids.get(t, ids.get(t))
                    or t not in ids]  # fmt: skip
            now = {t: found.get(t, n) for t, n in spec.partitions.items()}
            if gone:
                log.warning("query %s starts anew: topic %s is gone or was made anew", spec.id, gone[0])
                if set(gone) & set(spec.sink_topics):
                    query.cut_off()  # its tasks would wait for the topic
                self.start(spec)
            elif more := [t for t, n in spec.partitions.items() if now[t] > n]:
                log.warning("query %s starts anew: its topics have got more partitions", spec.id)
                again = self.start(replace(spec, partitions=now))
                for topic in more if not again.refused else ():
                    again.tell(failure_of(widened(topic, spec.partitions[topic], now[topic], written=False)))
            else:
                for topic in [t for t, n in known.written.items() if found[t] > n]:
                    problem = widened(topic, known.written[topic], found[topic], written=True)
                    log.warning("query %s: %s", spec.id, problem.summary())
                    query.topics = replace(known, written={topic: found[topic]})
                    query.tell(failure_of(problem))

    def tell(self, trouble: Exception) -> None:
        """Takes down, for all that run, what may be why they come no further: brokers that do not answer, mostly."""
        failure = failure_of(trouble)
        for query in self.all():
            if query.error is None:  # others have their own reason
                query.tell(failure)

    def use(self, session: SparkSession) -> None:
        """Takes another session from now on; all queries must have ended or be abandoned."""
        self._session = session

    def any(self) -> bool:
        """Whether any query runs."""
        return bool(self.all())

    def get(self, query_id: str) -> RunningQuery | None:
        """The running query of that id."""
        with self._lock:
            return self._running.get(query_id)

    def status(self, query_id: str) -> QueryStatus:
        """Its status; while Spark's JVM is made anew, all recover."""
        query = self.get(query_id)
        if query is not None:
            return QueryStatus(State.RECOVERING) if query_id in self._replaced else query.status
        return QueryStatus(State.ERROR, None) if self._gone is None else QueryStatus(State.RECOVERING, self._gone)

    def figures(self, query_id: str) -> dict[str, Any]:
        """Live counts of a query, see :func:`ksqlpy.spark.figures.figures`."""
        return figures(self._session, query_id)

    def has_read(self, query_id: str, record: Record) -> bool:
        """Whether the checkpoint of a query holds what came of a record."""
        query = self.get(query_id)
        last = None if query is None else query.checkpoint.last_commit
        if query is None or last is None:
            return False
        return query.checkpoint.offsets(last).get(record.topic, {}).get(str(record.partition), 0) > record.offset

    def has_worked_on(
        self, query_id: str, begins: Mapping[str, Mapping[str, int]], ends: Mapping[str, Mapping[str, int]]
    ) -> bool:
        """Whether the results of all records before ``ends`` are in their topic.

        That is certain when a checkpoint holds them. In between the query must have read them, and be seen at rest with
        all its tasks, several times in a row, since one look misses a record on its way between two tasks. ``begins``:
        the first offsets that there are.
        """
        query = self.get(query_id)
        if query is None or not query.live.is_set():
            return False
        last = query.checkpoint.last_commit
        committed = query.checkpoint.offsets(last) if last is not None else query.spec.offsets

        def there(read: Mapping[str, Mapping[str, int]]) -> bool:
            return all(
                max(of.get(topic, {}).get(p, 0) for of in (read, committed)) >= end
                for topic, partitions in ends.items()
                for p, end in partitions.items()
                if end > begins[topic][p]
            )

        if there({}):
            return True
        tasks = self._slots(query)
        for _ in range(_LOOKS):
            if not there(read_up_to(self._session, query_id, begins)) or not at_rest(self._session, query_id, tasks):
                return False
            time.sleep(_BETWEEN)
        return True

    def left_to_read(
        self, query: PersistentQuery, begins: Mapping[str, Mapping[str, int]], ends: Mapping[str, Mapping[str, int]]
    ) -> int | None:
        """How many records before ``ends`` it has not read yet, None where it has begun with none; offsets as above."""
        running = self.get(query.id)
        checkpoint = Checkpoint(self._session, self.checkpoint(query.id)) if running is None else running.checkpoint
        last = checkpoint.last_commit
        known = [checkpoint.offsets(last) if last is not None else query.offsets]
        if running is not None:
            known.append(read_up_to(self._session, query.id, begins))
        left = sum(
            max(0, end - max(begins[topic][p], *(of.get(topic, {}).get(p, 0) for of in known)))
            for topic, partitions in ends.items()
            for p, end in partitions.items()
        )
        return None if left and last is None and not any(known[1:]) else left

    def at_rest(self, query_id: str) -> bool:
        """Whether a query waits for records, see :func:`ksqlpy.spark.session.at_rest`."""
        return at_rest(self._session, query_id)
