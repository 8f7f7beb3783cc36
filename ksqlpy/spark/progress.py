"""How many records Spark has read so far, of jobs that run now: for a bar that moves."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.spark.gateway import scala_context

__all__ = ["ReadCount"]

_KEPT = 10
"""So many jobs that have ended Spark knows (``spark.ui.retainedJobs``)."""


class ReadCount:
    """Counts the records that the jobs of a session read from when this is made.

    ``each``: how many a task reads, for sources that do not say it. Others tell it when a task ends, and of running
    ones every ten seconds; a job that was over between two looks may be missed. For a thread of
    its own: it asks the JVM.
    """

    def __init__(self, session: SparkSession, each: float = 0) -> None:
        self._each = each
        self._spark: Any = scala_context(session)
        self._tracker = session.sparkContext.statusTracker()
        self._done = 0.0
        self._next = int(self._spark.dagScheduler().numTotalJobs())
        self._open: set[int] = set()

    def records(self) -> int:
        """The records until now. Raises Py4JError, or OSError, when the JVM is gone."""
        now = int(self._spark.dagScheduler().numTotalJobs())
        self._open |= set(range(self._next, now))
        self._next = now
        running = 0.0
        for job in sorted(self._open):
            info = self._tracker.getJobInfo(job)
            if info is None:
                if job < now - _KEPT:  # forgotten; else so new that it is not told of yet
                    self._open.discard(job)
                continue
            read = sum(self._of_stage(stage) for stage in info.stageIds)
            if info.status == "RUNNING":
                running += read
            else:
                self._done += read
                self._open.discard(job)
        return round(self._done + running)

    def _of_stage(self, stage: int) -> float:
        try:
            known = self._spark.statusStore().lastStageAttempt(stage)
            return int(known.inputRecords()) or int(known.numCompleteTasks()) * self._each
        except Py4JError:  # no such stage any more
            return 0
