"""Notes of the sink: where its topics end is noted in the checkpoint, so that a recovery reads only what comes behind.

The watch calls :meth:`SinkNotes.look`, the query's own thread all others.
"""

from __future__ import annotations

import threading

from pyspark.sql import SparkSession

from ksqlpy.spark.checkpoint import Checkpoint
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.once import Offsets, Tail
from ksqlpy.spark.query import tails
from ksqlpy.spark.query.report import QueryReport
from ksqlpy.spark.spec import QuerySpec

__all__ = ["SinkNotes"]


class SinkNotes:
    """Those of one query. ``in_use``: the tail whose results its present run leaves out."""

    def __init__(self, session: SparkSession, spec: QuerySpec, checkpoint: Checkpoint, report: QueryReport) -> None:
        self._session, self._spec, self._checkpoint, self._report = session, spec, checkpoint, report
        self.in_use: Tail | None = None
        self._ends: tuple[int, Offsets] | None = None  # of the sink when it was looked at last, and up to which batch
        self._over = False
        self._lock = threading.Lock()

    def begin(self, batch: int) -> None:
        """A life goes on from this batch: notes of later ones do not count."""
        with self._lock:
            self._ends = None
            self._checkpoint.begin_notes(batch)

    def end(self) -> None:
        """None is made from now on."""
        with self._lock:
            self._over = True

    def look(self, kafka: Kafka) -> None:
        """Notes the ends of the sink topics if a batch was committed since the last note; to be called now and then."""
        with self._lock:
            if not self._spec.exactly_once or not self._report.live.is_set() or self._over:
                return
            last = self._checkpoint.last_commit
            if last is not None and self._has_caught_up(last):
                self._note(kafka, last)

    def _note(self, kafka: Kafka, last: int) -> None:
        looked, self._ends = self._ends, None
        begun = looked is None or looked[0] <= last
        if looked is not None and begun:  # nearer to its commit than the note that was made when it began
            self._checkpoint.note(*looked)
        ends = kafka.offsets(kafka.partitions(self._spec.sink_topics), latest=True)
        # Results of the batch that runs now may be among them. So the note is good from its commit on, if it is that
        # batch that runs still.
        if self._checkpoint.last_commit == last:
            self._ends = (last + 1, ends)
            if begun:
                self._checkpoint.note(*self._ends)

    def _has_caught_up(self, last: int) -> bool:
        """Whether all records that had results at the start are behind this batch; then the tail is given up.

        Until then results of later batches lie where the tail begins, and notes would have to say so.
        """
        tail = self.in_use
        if tail is None:
            return True
        read, topics = self._checkpoint.offsets(last), self._spec.plan.topics
        for (topic, partition), offset in tails.highest(self._session, tail).items():
            if topic < len(topics) and read.get(topics[topic], {}).get(partition, 0) <= offset:
                return False
        tails.empty(self._session, tail)
        self.in_use = None
        return True
