"""One life of a query: what it finds in checkpoint and sink, and which phases it goes through then."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from ksqlpy.errors import EngineProblem
from ksqlpy.spark.clients import tell_jvm, tell_registry
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.figures import forget_figures
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.once import Offsets, Tail
from ksqlpy.spark.query import tails
from ksqlpy.spark.query.report import Phase
from ksqlpy.spark.query.spark_run import Parts, SparkRun
from ksqlpy.spark.query_status import State
from ksqlpy.spark.readable import wait_until_stable
from ksqlpy.spark.signing import with_keys
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.tasks import ENDING, tasks_end
from ksqlpy.spark.topics import cut, of_today, results_cut, topics_of

__all__ = ["Life"]

log = logging.getLogger(__name__)


class Life:
    """From the checkpoint until the query is stopped or fails.

    ``spec``: of this life, with the keys and the first offsets that its checkpoint names. ``sole_writer``: whether
    nobody else writes its results; ``new``: whether no life has begun on the checkpoint yet.
    """

    def __init__(self, parts: Parts, spec: QuerySpec, kafka: Kafka, *, sole_writer: bool, new: bool) -> None:
        self.spec = spec
        self._parts, self._checkpoint, self._kafka = parts, parts.checkpoint, kafka
        self._sole_writer, self._new = sole_writer, new

    @classmethod
    def begin(cls, parts: Parts, spec: QuerySpec) -> Life:
        """Takes over the checkpoint and the sink of a query. Raises KsqlError where it must not go on from there."""
        session, checkpoint, writers = parts.session, parts.checkpoint, parts.writers
        _wait_for_tasks(parts, spec)
        tell_jvm(session, spec.connection)
        tell_registry(session, spec.registry)
        spec = with_keys(session, checkpoint, spec)
        kafka = Kafka(spec.connection)
        topics = topics_of(kafka, spec, partial(writers.cut_off, spec), written=writers.registered)
        parts.report.topics = topics
        writers.limit(kafka, spec, {t: i for t, i in topics.ids.items() if t in spec.partitions})
        # First of all: an engine that has lost the service must not mend or sign what is another one's by now.
        sole_writer = writers.begin(kafka, spec, parts.handle.stopping)
        if spec.mark:
            checkpoint.check_made(spec.mark)
        new = checkpoint.claim(spec.fingerprint, spec.shuffle_partitions, topics, spec.upgraded_from)
        _tell(parts, spec, checkpoint.widened(topics))
        ends = None
        if checkpoint.rewinds(spec.rewound):  # nothing of the checkpoint is needed
            forget_figures(session, spec.id)  # they say how far it has read
            ends = _sink_ends(parts, spec, kafka, sole_writer=sole_writer)
        else:
            if torn := checkpoint.mend():
                log.warning("query %s: damaged files are removed, their batches are done again: %s", spec.id, torn)
            checkpoint.end_last()
        if begun := checkpoint.begin_era(spec.era, ends):
            offsets = {t: {**first, **begun.get(t, {})} for t, first in spec.offsets.items()}
            spec = replace(spec, offsets=offsets)
        return cls(parts, spec, kafka, sole_writer=sole_writer, new=new)

    def run(self) -> None:
        """Goes through the phases; up to some offsets, if there are such, in one batch."""
        spec, checkpoint, kafka, report = self.spec, self._checkpoint, self._kafka, self._parts.report
        batch = checkpoint.last_commit
        if batch is not None and report.state is State.STARTING:
            report.enter(State.RECOVERING)
        read = spec.offsets if batch is None else checkpoint.offsets(batch)
        if spec.committed:
            wait_until_stable(kafka, spec.partitions, read, self._parts.handle.stopping, report.tell)
        lost = self._look_for_loss(read, None)
        self._parts.notes.begin(-1 if batch is None else batch)
        tail = None if self._new else self._tail(-1 if batch is None else batch)
        if self._new:
            self._sign()
        # Real-time mode cannot skip records that are gone, a micro-batch can.
        changed = tail is not None and spec.order_varies and (batch is None or self._state_changes(batch))
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
            self._look_for_loss(read, lost)  # a micro-batch leaves out what goes while it runs
        self._go(Phase.LIVE, tail if ahead is None else None)

    def _go(self, phase: Phase, tail: Tail | None) -> None:
        """Runs one Spark query to its end."""
        if self._parts.handle.stopping.is_set():
            return
        ahead = (
            tails.read_ahead(self._parts.session, tail, self.spec.id) if tail is not None else contextlib.nullcontext()
        )
        with ahead:
            SparkRun(self._parts, self.spec, phase, tail).run()

    def _sign(self) -> None:
        """Notes where the sink topics end ahead of the first result of all, and then that there may be one."""
        spec, kafka = self.spec, self._kafka
        if spec.exactly_once:
            self._checkpoint.note(-1, kafka.offsets(kafka.partitions(spec.sink_topics), latest=True))
        self._checkpoint.sign(spec.fingerprint, spec.shuffle_partitions, self._parts.report.topics)

    def _state_changes(self, batch: int) -> bool:
        """Whether records came since the batch that change a state which others meet: else any order is the right one.

        So a join whose tables were quiet goes live at once: the results that are there saw the tables as they are.
        """
        topics = self.spec.plan.changing_topics
        changing = {t: n for t, n in self.spec.partitions.items() if t in topics}
        ends = self._kafka.offsets(changing, latest=True, committed=self.spec.committed)
        read = self._checkpoint.offsets(batch)
        return any(end != read.get(t, {}).get(p) for t, places in ends.items() for p, end in places.items())

    def _look_for_loss(self, read: Offsets, told: Mapping[str, int] | None) -> dict[str, int]:
        """How many records the brokers deleted before the query could read them, where more than were told of."""
        found = cut(self._kafka, self.spec, read, told)
        _tell(self._parts, self.spec, [problem for _, problem in found.values()])
        return {topic: lost for topic, (lost, _) in found.items()}

    def _tail(self, last: int) -> Tail | None:
        """What may be written already of rows after batch ``last``; None if nothing is. Notes where that begins."""
        spec, kafka = self.spec, self._kafka
        if not spec.exactly_once:
            return None
        ends = _sink_ends(self._parts, spec, kafka, sole_writer=self._sole_writer)
        start, unsigned = of_today(self._checkpoint.ends_before(last), ends), self._checkpoint.unsigned_until(ends)
        plan = spec.plan
        _tell(self._parts, spec, results_cut(kafka, kafka.partitions(spec.sink_topics), start, ends))
        tail = Tail(
            spec.connection, spec.results_of or spec.id, plan.seen_tables, start, ends, spec.keys, unsigned,
            by_seen=plan.regroups_joined or plan.partition_history, by_key=plan.joined_by_key,
            of_tasks=plan.partition_history, results=spec.sink_topics[0],
        )  # fmt: skip
        if tail.empty:
            return None
        if last < 0 and not tails.load(self._parts.session, tail):  # others wrote there
            tails.forget(self._parts.session, tail)
            return None
        return tail


def _sink_ends(parts: Parts, spec: QuerySpec, kafka: Kafka, *, sole_writer: bool) -> dict[str, dict[str, int]]:
    """Where the topics of its results end, behind all that earlier lives of the query have written."""
    stopping, partitions = parts.handle.stopping, kafka.partitions(spec.sink_topics)
    ends = kafka.offsets(partitions, latest=True)
    parts.writers.wait_until_sent(spec, stopping)
    # Requests of a producer of another JVM that has just died may still be in the broker's queue.
    for _ in range(0 if sole_writer else 50):
        stopping.wait(0.2)
        before, ends = ends, kafka.offsets(partitions, latest=True)
        if before == ends:
            return ends
    return kafka.offsets(partitions, latest=True)


def _wait_for_tasks(parts: Parts, spec: QuerySpec) -> None:
    """Waits until no task of the query's life before runs in Spark any more, if it would go on to write results.

    Raises EngineProblem ``tasks-go-on`` if that takes too long.
    """
    if parts.writers.shared and not tasks_end(parts.session, spec.id, parts.handle.stopping.is_set):
        raise EngineProblem(
            "tasks-go-on", f"tasks from before query {spec.id} was stopped have not ended in {ENDING:g} s"
        )


def _tell(parts: Parts, spec: QuerySpec, problems: Iterable[EngineProblem]) -> None:
    for problem in problems:
        log.error("query %s: %s", spec.id, problem.summary())
        parts.report.tell(failure_of(problem))
