"""One running query: a Kafka source over all its topics, a plan, a Kafka sink, a checkpoint.

It goes through up to two phases, each a Spark query on the same checkpoint:

- recovery: after a stop or a crash, where rows of several partitions meet, one micro-batch takes the rows since the
  last checkpoint again that results had seen, in the order of their results, and leaves out results that are in the
  sink already (``spark/once.py``);
- live: real-time mode, or micro-batches if that is asked for, until it is stopped; after a stop or a crash it leaves
  out what is there, if no recovery did.

Ahead of them a plan that OR REPLACE has replaced takes the records that are there, in one batch.
A query that fails starts again after a while, longer each time; at once where it ran and an executor was lost.
The file is longer than others: both phases and the ways from one to the other share the state of one query.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.spark.checkpoint import Checkpoint, damage
from ksqlpy.spark.clients import tell_jvm, tell_registry
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.executors import Losses
from ksqlpy.spark.failure import Failure, failure_of
from ksqlpy.spark.figures import checkpoint_figures
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.once import Offsets, Tail
from ksqlpy.spark.output import InStep, kafka_output, undone
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.readable import wait_until_stable
from ksqlpy.spark.session import admit_forgetting, jvm_alive
from ksqlpy.spark.signing import with_keys
from ksqlpy.spark.source import source_records
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.tasks import tasks_run
from ksqlpy.spark.topics import Topics, cut, of_today, results_cut, topics_of
from ksqlpy.spark.writers import Writers

__all__ = ["Phase", "RunningQuery"]

log = logging.getLogger(__name__)

KEPT_FAILURES = 10
ENDING = 120.0
"""Seconds in which Spark's tasks have to end after their query was stopped."""

PLANNING = 30.0
"""Seconds after which the next query is planned, though the tasks of this one do not run yet."""

PROVEN = 30.0
"""Seconds after which a query that failed counts as running again, if it commits no batch sooner."""


class Phase(Enum):
    """What a query does just now; the value is how people call it."""

    RECOVERY = "recovery"
    LIVE = "real-time"


class RunningQuery:
    """Starts, watches and stops one query.

    ``status``: its state, since when, and its tries; ``phase`` what it does when it runs; ``failures`` the last ones,
    newest last. ``refused``: in ERROR until there is room for it. ``changed`` is called when the state changes, mostly
    from the query's own thread. ``topics``: as brokers knew them when it started.
    ``start_limit``: it holds a slot of it for as long as Spark plans. ``writers``: the producers of its results.
    """

    def __init__(
        self,
        session: SparkSession,
        spec: QuerySpec,
        changed: Callable[[RunningQuery], None],
        start_limit: StartLimit,
        writers: Writers,
    ) -> None:
        self.spec = spec
        self.status = QueryStatus(State.STARTING)
        self.phase = Phase.LIVE
        self.failures: deque[Failure] = deque(maxlen=KEPT_FAILURES)
        self.checkpoint = Checkpoint(session, spec.checkpoint)
        self.live = threading.Event()
        self.refused = False
        self._in_use: Tail | None = None
        self._noting = threading.Lock()
        self._ends: tuple[int, Offsets] | None = None  # of the sink when it was looked at last, and up to which batch
        self.topics = Topics()
        self._changed = changed
        self._start_limit = start_limit
        self._writers = writers
        self._losses = Losses(session)
        self._session = session
        self._query: StreamingQuery | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"query {spec.id}", daemon=True)

    @property
    def doing(self) -> str:
        """What it does when it runs, as people call it."""
        return "micro-batch" if self.phase is Phase.LIVE and self.spec.batch_ms is not None else self.phase.value

    @property
    def state(self) -> State:
        """The state alone."""
        return self.status.state

    @property
    def error(self) -> str | None:
        """Why it does not run, in ERROR and RETRYING."""
        return self.failures[-1].message if self.status.failed and self.failures else None

    def refuse(self, reason: KsqlError) -> None:
        """Says why it is not started."""
        self.refused = True
        self.failures.append(failure_of(reason))
        self._set(State.ERROR)

    def tell(self, trouble: Failure) -> None:
        """Takes down what may be why it comes no further, though it runs; the same again only with its last time."""
        if self.failures and self.failures[-1].message == trouble.message:
            self.failures.pop()
        self.failures.append(trouble)

    def cut_off(self) -> None:
        """Gives up results that were not sent: another topic of the name of theirs must not get them."""
        self._writers.cut_off(self.spec)

    def start(self) -> None:
        """Begins to run, in a thread of its own."""
        self._thread.start()

    def stop(self, *, forget: bool = False) -> None:
        """Ends the query; returns when nothing of it runs any more. ``forget``: for good."""
        self._stopping.set()
        with self._lock:
            query = self._query
        if query is not None:
            try:
                query.stop()
            except (Py4JError, PySparkException, ConnectionError, OSError) as e:
                log.warning("query %s did not stop cleanly: %s", self.spec.id, failure_of(e).message)
        self._join(30)
        self._retire(forget)
        with self._noting:
            self.status = QueryStatus(State.STOPPED)

    def _join(self, seconds: float) -> None:
        """Waits for its thread; not if the JVM is gone, as brokers that are away may hold it then, and nothing else."""
        end = time.monotonic() + seconds
        if self._thread is not threading.current_thread():
            while self._thread.is_alive() and time.monotonic() < end and jvm_alive():
                self._thread.join(timeout=0.2)

    def _retire(self, forget: bool) -> None:
        """Its producers write no more."""
        if self._thread.is_alive():
            return
        try:
            self._writers.end(self.spec, forget=forget)
        except (Py4JError, OSError, KsqlError) as e:
            log.debug("query %s: its producers stay noted: %s", self.spec.id, e)

    def abandon(self) -> None:
        """Forgets the query of a JVM that is gone; its thread ends by itself, and who reads a push query is told."""
        self._stopping.set()
        self.failures.append(Failure(time.time(), "SYSTEM", "Spark's JVM is gone"))
        self.status = QueryStatus(State.ERROR)

    # ------------------------------------------------------------ its thread

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                self._losses.begin()
                self._life()
                return
            except Exception as e:  # whatever ends it must show as the query's state
                self.live.clear()
                if self._stopping.is_set() or not jvm_alive():
                    return  # the engine starts it again, in another JVM
                blameless = self.status.tries == 0 and self._losses.any()
                failures = 1 if blameless or time.monotonic() - begun > 2 * self.spec.retry.longest else failures + 1
                failure = failure_of(damage(self.checkpoint.folder, e) or e)
                self.failures.append(failure)
                wait = 0.0 if blameless else self.spec.retry.wait(failures)
                log.error(
                    "query %s failed, next try in %.0f s: %s: %s", self.spec.id, wait, failure.kind, failure.message
                )
                self._set(State.RETRYING, failures, time.time() + wait)
                self._stopping.wait(wait)
                self._set(State.RETRYING, failures)

    def _life(self) -> None:
        """From start to end once; returns only when it is stopped."""
        if (before := self.spec.before) is not None:
            after = replace(self.spec, before=None)
            self.spec = before
            try:
                self._run_life()
            except EngineProblem as e:
                log.warning("query %s: records since the last checkpoint are read by the new plan: %s", after.id, e)
            finally:
                self.spec = after
        self._run_life()

    def _run_life(self) -> None:
        """Goes through the phases; up to some offsets, if there are such, in one batch."""
        spec, checkpoint = self.spec, self.checkpoint
        self._wait_for_tasks()
        tell_jvm(self._session, spec.connection)
        tell_registry(self._session, spec.registry)
        self.spec = spec = with_keys(self._session, checkpoint, spec)
        kafka = Kafka(spec.connection)
        self.topics = topics_of(kafka, spec, self.cut_off, written=self._writers.registered)
        self._writers.limit(kafka, spec, {t: i for t, i in self.topics.ids.items() if t in spec.partitions})
        # First of all: an engine that has lost the service must not mend or sign what is another one's by now.
        alone = self._writers.begin(kafka, spec, self._stopping)
        if spec.mark:
            checkpoint.check_made(spec.mark)
        new = checkpoint.claim(spec.fingerprint, spec.shuffle_partitions, self.topics, spec.upgraded_from)
        self._note_problems(checkpoint.widened(self.topics))
        if torn := checkpoint.mend():
            log.warning("query %s: damaged files are removed, their batches are done again: %s", spec.id, torn)
        checkpoint.end_last()
        if begun := checkpoint.begin_era(spec.era):
            offsets = {t: {**first, **begun.get(t, {})} for t, first in spec.offsets.items()}
            self.spec = spec = replace(spec, offsets=offsets)
        batch = checkpoint.last_commit
        if batch is not None and self.state is State.STARTING:
            self._set(State.RECOVERING)
        read = spec.offsets if batch is None else checkpoint.offsets(batch)
        if spec.committed:
            wait_until_stable(kafka, spec.partitions, read, self._stopping, self.tell)
        lost = self._look_for_loss(kafka, read, None)
        with self._noting:
            self._ends = None
            checkpoint.begin_notes(-1 if batch is None else batch)
        tail = None if new else self._tail(kafka, -1 if batch is None else batch, alone=alone)
        if new:
            self._begin(kafka)
        # Real-time mode cannot skip records that are gone, a micro-batch can.
        changed = tail is not None and spec.order_varies and (batch is None or self._state_changes(kafka, batch))
        # Read by time, stream rows meet their tables as they did: what has a result is left out, nothing is repeated.
        changed = changed and not (spec.by_time and not spec.plan.retraced and spec.plan.done_as_read)
        ahead = Phase.RECOVERY if lost or changed else None
        if batch is None:
            checkpoint.clear()  # Spark cannot go on from what a query leaves that was killed before its first commit
        log.info(
            "query %s starts after batch %s, %s, first %s",
            spec.id, batch, "nothing to leave out" if tail is None else f"leaves out {tail.start} to {tail.end}",
            (ahead or Phase.LIVE).value,
        )  # fmt: skip
        if spec.until is not None:
            checkpoint.begin_last(spec.until)
            self._go(ahead or Phase.RECOVERY, tail)
            checkpoint.end_last()
            return
        if ahead is not None:
            self._go(ahead, tail)
            self._look_for_loss(kafka, read, lost)  # a micro-batch leaves out what goes while it runs
        self._go(Phase.LIVE, tail if ahead is None else None)

    def _begin(self, kafka: Kafka) -> None:
        """Notes where the sink topics end ahead of the first result of all, and then that there may be one."""
        spec = self.spec
        if spec.exactly_once:
            self.checkpoint.note(-1, kafka.offsets(kafka.partitions(spec.sink_topics), latest=True))
        self.checkpoint.sign(spec.fingerprint, spec.shuffle_partitions, self.topics)

    def _state_changes(self, kafka: Kafka, batch: int) -> bool:
        """Whether records came since the batch that change a state which others meet: else any order is the right one.

        So a join whose tables were quiet goes live at once: the results that are there saw the tables as they are.
        """
        topics = self.spec.plan.changing_topics
        changing = {t: n for t, n in self.spec.partitions.items() if t in topics}
        ends = kafka.offsets(changing, latest=True, committed=self.spec.committed)
        read = self.checkpoint.offsets(batch)
        return any(end != read.get(t, {}).get(p) for t, places in ends.items() for p, end in places.items())

    def _look_for_loss(self, kafka: Kafka, read: Offsets, told: Mapping[str, int] | None) -> dict[str, int]:
        """How many records the brokers deleted before the query could read them, where more than were told of."""
        found = cut(kafka, self.spec, read, told)
        self._note_problems([problem for _, problem in found.values()])
        return {topic: lost for topic, (lost, _) in found.items()}

    def _note_problems(self, problems: Iterable[EngineProblem]) -> None:
        for problem in problems:
            log.error("query %s: %s", self.spec.id, problem.summary())
            self.tell(failure_of(problem))

    def _tail(self, kafka: Kafka, last: int, *, alone: bool) -> Tail | None:
        """What may be written already of rows after batch ``last``; None if nothing is. Notes where that begins.

        ``alone``: whether nobody else writes its results.
        """
        spec = self.spec
        if not spec.exactly_once:
            return None
        partitions = kafka.partitions(spec.sink_topics)
        ends = kafka.offsets(partitions, latest=True)
        self._writers.wait_until_sent(spec, self._stopping)
        # Requests of a producer of another JVM that has just died may still be in the broker's queue.
        for _ in range(0 if alone else 50):
            self._stopping.wait(0.2)
            before, ends = ends, kafka.offsets(partitions, latest=True)
            if before == ends:
                break
        else:
            ends = kafka.offsets(partitions, latest=True)
        start, unsigned = of_today(self.checkpoint.ends_before(last), ends), self.checkpoint.unsigned_until(ends)
        plan = spec.plan
        self._note_problems(results_cut(kafka, partitions, start, ends))
        tail = Tail(
            spec.connection, spec.results_of or spec.id, plan.seen_tables, start, ends, spec.keys, unsigned,
            by_seen=plan.regroups_joined or plan.partition_history, by_key=plan.joined_by_key,
            of_tasks=plan.partition_history, results=spec.sink_topics[0],
        )  # fmt: skip
        if tail.empty:
            return None
        if last < 0 and not self._records_of(tail):  # others wrote there
            self._forget(tail)
            return None
        return tail

    def _wait_for_tasks(self) -> None:
        """Waits until no task of the query's life before runs in Spark any more, if it would go on to write results.

        Raises EngineProblem ``tasks-go-on`` if that takes too long.
        """
        if self._writers.shared and not self._tasks_end(self._stopping.is_set):
            raise EngineProblem(
                "tasks-go-on", f"tasks from before query {self.spec.id} was stopped have not ended in {ENDING:g} s"
            )

    def _tasks_end(self, enough: Callable[[], bool] = lambda: False) -> bool:
        """Waits while Spark runs tasks of this query, which go on after it was stopped; whether they ended in time."""
        end = time.monotonic() + ENDING
        while tasks_run(self._session, self.spec.id) and not enough():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def _records_of(self, tail: Tail) -> int:
        """How many records of the query are in it."""
        jvm: Any = self._session._jvm
        return int(jvm.ksqlpy.once.Tail.load(tail.spec))

    def _go(self, phase: Phase, tail: Tail | None) -> None:
        """Runs one Spark query to its end."""
        if self._stopping.is_set():
            return
        with contextlib.nullcontext() if tail is None else self._read_ahead(tail):
            self._run_spark(phase, tail)

    def _run_spark(self, phase: Phase, tail: Tail | None) -> None:
        live = phase is Phase.LIVE
        with contextlib.ExitStack() as slot:
            slot.enter_context(self._start_limit.slot(self._stopping))
            begun = time.monotonic()
            query = self._start_spark(phase, tail)
            if query is None:
                return
            given = time.monotonic()
            self.phase = phase
            self._in_use = tail if live else None
            try:
                planned = self._wait_for_first_tasks(query)
                if live:
                    self.live.set()
                slot.close()
                took = given - begun, time.monotonic() - given
                log.info("query %s, %s: given to Spark in %.1f s, planned in %.1f s", self.spec.id, phase.value, *took)
                if phase is not Phase.RECOVERY:
                    self._wait_for_proof(query, planned)
                query.awaitTermination()
            finally:
                self._in_use = None
                self._forget_sessions(query)
        if live and not self._stopping.is_set():
            raise EngineProblem("query-ended", "the query ended by itself")

    def _forget_sessions(self, query: StreamingQuery) -> None:
        """Takes off Spark's context what the sessions of an ended query have left there."""
        jvm: Any = self._session._jvm
        try:
            jvm.ksqlpy.internals.Sessions.forget(query._jsq)
        except (Py4JError, OSError) as e:
            log.debug("query %s: its sessions stay registered: %s", self.spec.id, e)

    def _wait_for_first_tasks(self, query: StreamingQuery) -> bool:
        """Waits until Spark is done with planning it, and says so; not for long: brokers may keep it from that."""
        end = time.monotonic() + PLANNING
        while query.isActive and not self._is_planned(query):
            if time.monotonic() > end or self._stopping.wait(0.02):
                return False
        return True

    def _is_planned(self, query: StreamingQuery) -> bool:
        """Whether tasks of it run, or it is a query of micro-batches without records, or until its next batch."""
        return tasks_run(self._session, self.spec.id) or query.status["message"].startswith("Waiting")

    def _wait_for_proof(self, query: StreamingQuery, planned: bool) -> None:
        """Says that the query runs when it does: it is planned, and past where it failed the last time."""
        tried, begun = self.status.tries > 0, time.monotonic()
        last = self.checkpoint.last_commit if tried else None
        while not (planned and not (tried and self._may_fail_again(query, begun, last))):
            if query.awaitTermination(1 if planned else 0.2) or self._stopping.is_set():  # type: ignore[arg-type]  # takes fractions
                return
            planned = planned or self._is_planned(query)
        self._set(State.RUNNING)

    def _may_fail_again(self, query: StreamingQuery, begun: float, last: int | None) -> bool:
        """Whether a query that failed has not read on since: it committed no batch, and has not run for long."""
        idle = query.status["message"].startswith("Waiting")
        return not idle and time.monotonic() - begun < PROVEN and self.checkpoint.last_commit == last

    def _start_spark(self, phase: Phase, tail: Tail | None) -> StreamingQuery | None:
        """Gives Spark the query of a phase; None if it is to stop."""
        if self._stopping.is_set():
            return None
        spec, live = self.spec, phase is Phase.LIVE
        session = self._session.newSession()
        session.conf.set("spark.sql.shuffle.partitions", str(spec.shuffle_partitions))
        if live and spec.batch_ms is None:
            admit_forgetting(session)
        end = self._read_before(tail) if phase is Phase.RECOVERY else None
        one_jvm = self._writers.shared
        # Tasks side by side keep to the order of time in one JVM alone; executors, which tell each other what is on its
        # way between tasks that run at the same time, do so behind one that reads all.
        ordered = spec.by_time if one_jvm else spec.batch_ms is None and (spec.by_time or spec.idle_ms >= 0)
        in_step = live and spec.shuffled and ordered
        records = undone(spec.plan, source_records(session, spec, skipping=not live, end=end, by_time=in_step), tail)
        distribution = Distribution(
            spec.shuffle_partitions,
            spec.shuffled if live else spec.order_varies,
            in_step=in_step,
            source_partitions=len(spec.offsets[spec.plan.relations[0].source.topic]),
            topic_partitions=tuple(spec.partitions[t] for t in spec.plan.topics) if spec.exactly_once else (),
        )
        # Live, rows come as they come; what is left to do then is to leave out the results that are there.
        rows = compile_plan(spec.plan, records, distribution, None if live else tail, name=spec.id)
        output = kafka_output(
            spec.plan, rows, spec.id, spec.sink, spec.dead_topic, at=spec.exactly_once, tail=tail,
            in_order=not live and spec.shuffled,
            in_step=self._last_step() if in_step else None,
        )  # fmt: skip
        writer = (
            output.writeStream.format(self._writers.ordered if in_step and one_jvm else self._writers.format)
            .queryName(spec.id if live else f"{spec.id} ({phase.value})")
            .options(**self._writers.options(spec))
            .option("checkpointLocation", self.checkpoint.spark)
            .outputMode("update")
        )
        # Real-time mode writes the commits of queries without state while the next batch runs. Notes of the sink's ends
        # rely on the opposite (``_note``), and so do steps of the JVM, whose state Spark does not know.
        if spec.exactly_once or spec.plan.partition_history:
            writer = writer.option("asyncProgressTrackingEnabled", "false")
        if not live:
            writer = writer.trigger(availableNow=True)
        elif spec.batch_ms is not None:
            writer = writer.trigger(processingTime=f"{spec.batch_ms} milliseconds")
        else:
            writer = writer.trigger(realTime=f"{_apart(spec)} milliseconds")  # type: ignore[call-overload]  # newer than its types
        self._writers.check()  # else it would write into the checkpoint of the engine that has the service
        with self._lock:
            if self._stopping.is_set():
                return None
            session.sparkContext.setLocalProperty("ksqlpy.query", spec.id)  # as Tasks.java knows its tasks
            self._writers.mark(spec)
            self._query = writer.start()
            return self._query

    def _last_step(self) -> InStep | None:
        """On a cluster one task writes what several have made."""
        stages = self.spec.plan.stages
        return None if self._writers.shared or not stages else InStep(stages, self.spec.shuffle_partitions)

    def _read_before(self, tail: Tail | None) -> Offsets | None:
        """Where a recovery ends: behind the last records that the results in the tail had seen, and what was deleted.

        What comes behind has no result. It is read live, by time: the tasks of a batch would each write at their own
        pace, and queries behind would take results for late. None if results do not tell that.
        """
        spec = self.spec
        topics = spec.plan.told_by_results
        if not (spec.by_time and topics and spec.until is None):
            return None
        jvm: Any = self._session._jvm
        last = self.checkpoint.last_commit
        read = spec.offsets if last is None else self.checkpoint.offsets(last)
        first = Kafka(spec.connection).offsets({t: spec.partitions[t] for t in topics}, latest=False)
        ends = {t: {p: max(o, read.get(t, {}).get(p, o)) for p, o in first[t].items()} for t in topics}
        if tail is None:
            return ends
        highest = json.loads(jvm.ksqlpy.once.Tail.highest(tail.spec))
        seen = {(spec.plan.topics[int(place) >> 16], str(int(place) & 0xFFFF)): o for place, o in highest.items()}
        places = [(t, str(p)) for t in spec.plan.topics for p in range(spec.partitions[t])]
        if spec.plan.partition_history:
            for place, offset in zip(places, json.loads(jvm.ksqlpy.once.Tail.farthest(tail.spec)), strict=False):
                seen[place] = max(offset, seen.get(place, -1))
        for (topic, partition), offset in seen.items():
            if topic in ends:
                ends[topic][partition] = max(ends[topic].get(partition, 0), offset + 1)
        return ends

    @contextlib.contextmanager
    def _read_ahead(self, tail: Tail) -> Iterator[None]:
        """Reads the tail while Spark plans, since rows wait for it; forgets it when no task asks any more."""

        def read() -> None:
            with contextlib.suppress(Py4JError, OSError):  # the rows that ask for it say what is wrong
                self._records_of(tail)

        reading = threading.Thread(target=read, name=f"tail of {self.spec.id}", daemon=True)
        reading.start()
        try:
            yield
        finally:
            reading.join()
            with contextlib.suppress(Py4JError, OSError):  # with the JVM the tail is gone, too
                self._tasks_end()  # they still have to be told what is written
                self._forget(tail)

    def _forget(self, tail: Tail) -> None:
        jvm: Any = self._session._jvm
        jvm.ksqlpy.once.Tail.forget(tail.spec)

    def note_sink(self, kafka: Kafka) -> None:
        """Notes the ends of the sink topics if a batch was committed since the last note; to be called now and then."""
        with self._noting:
            if not self.spec.exactly_once or not self.live.is_set() or self.state is State.STOPPED:
                return
            last = self.checkpoint.last_commit
            if last is not None and self._has_caught_up(last):
                self._note(kafka, last)

    def _note(self, kafka: Kafka, last: int) -> None:
        looked, self._ends = self._ends, None
        begun = looked is None or looked[0] <= last
        if looked is not None and begun:  # nearer to its commit than the note that was made when it began
            self.checkpoint.note(*looked)
        ends = kafka.offsets(kafka.partitions(self.spec.sink_topics), latest=True)
        # Results of the batch that runs now may be among them. So the note is good from its commit on, if it is that
        # batch that runs still.
        if self.checkpoint.last_commit == last:
            self._ends = (last + 1, ends)
            if begun:
                self.checkpoint.note(*self._ends)

    def _has_caught_up(self, last: int) -> bool:
        """Whether all records that had results at the start are behind this batch; then the tail is given up.

        Until then results of later batches lie where the tail begins, and notes would have to say so.
        """
        tail = self._in_use
        if tail is None:
            return True
        jvm: Any = self._session._jvm
        read, topics = self.checkpoint.offsets(last), self.spec.plan.topics
        for place, offset in json.loads(jvm.ksqlpy.once.Tail.highest(tail.spec)).items():
            topic, partition = int(place) >> 16, int(place) & 0xFFFF
            if topic < len(topics) and read.get(topics[topic], {}).get(str(partition), 0) <= offset:
                return False
        jvm.ksqlpy.once.Tail.empty(tail.spec)
        self._in_use = None
        return True

    def progress(self) -> dict[str, Any]:
        """What is known since the last checkpoint: ``lastCommit`` (ms since 1970), ``stateBytes`` (of files on disk).

        Both are null before the first.
        """
        runs = self.live.is_set() and self.state not in (State.ERROR, State.STOPPED)
        return checkpoint_figures(self._query if runs else None, self.checkpoint)

    def _set(self, state: State, tries: int = 0, next_try: float | None = None) -> None:
        """Takes another state, whose tries may count on."""
        since = self.status.since if state is self.state else time.time()
        self.status = QueryStatus(state, since, tries, next_try)
        self._changed(self)


def _apart(spec: QuerySpec) -> int:
    """The query's checkpoint interval: up to a tenth longer than asked, so that not all queries stop at once."""
    return spec.interval_ms + spec.interval_ms * (zlib.crc32(spec.id.encode()) % 100) // 1000
