"""Runs the queries of a service on its standby, without results, so that the takeover finds them compiled.

A query runs on a checkpoint of its own, over the last records of its topics: as at its first start, then as after a
crash, when it leaves out what is written. So driver and executors have planned it and have generated and compiled its
code; the same code is found again by its text. Nothing is written to a topic.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from ksqlpy.errors import KsqlError
from ksqlpy.spark.figures import forget_figures
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.writers import writers_of_rehearsal

__all__ = ["REHEARSED", "rehearse"]

log = logging.getLogger(__name__)

REHEARSED = 16
"""So many queries at most: with each, less is left to be compiled for the next one."""

_RECENT = 2000
"""Records of a partition that are read, at most."""
_INTERVAL = 3000
"""Ms between its checkpoints: it has to have one before it can go on from it."""
_RUNS = 3
"""Runs of a query: one as a new query, the others as after a crash, of which the first one compiles."""
_LONGEST = 180.0
"""Seconds for one run: the first one took two minutes where the active server left no core idle."""
_LOOK = 0.3
"""Seconds between looks whether a run is far enough."""


def rehearse(session: SparkSession, specs: Sequence[QuerySpec], folder: str, enough: Callable[[], bool]) -> None:
    """Runs the queries one after the other; returns early when there is ``enough`` of it.

    ``folder``: for their checkpoints, a path or a URI. A query that does not come far enough in time is given up.
    """
    for number, spec in enumerate(specs[:REHEARSED]):
        if enough():
            return
        begun = time.monotonic()
        try:
            _rehearse(session, spec, f"{folder}/rehearsal-{number}", enough)
        except KsqlError as e:  # such as a topic that is gone: the others are rehearsed all the same
            log.info("query %s is not rehearsed: %s", spec.id, e)
        else:
            log.info("query %s was rehearsed for %.1f s", spec.id, time.monotonic() - begun)


def _rehearse(session: SparkSession, spec: QuerySpec, checkpoint: str, enough: Callable[[], bool]) -> None:
    trial = replace(
        spec,
        id=f"{spec.id}-rehearsal",
        results_of=spec.id,
        results_in=spec.checkpoint,
        offsets=_recent(spec),
        checkpoint=checkpoint,
        interval_ms=min(spec.interval_ms, _INTERVAL),
        mark="",
        era=0,
        upgraded_from=(),
    )
    try:
        done: int | None = -1
        for _ in range(_RUNS):
            if done is not None:
                done = _run(session, trial, done, enough)
    finally:
        forget_figures(session, trial.id)


def _recent(spec: QuerySpec) -> dict[str, dict[str, int]]:
    kafka = Kafka(spec.connection)
    read = partial(kafka.offsets, spec.partitions, committed=spec.committed)
    first, ends = (read(latest=latest) for latest in (False, True))
    return {t: {p: max(first[t][p], end - _RECENT) for p, end in ps.items()} for t, ps in ends.items()}


def _run(session: SparkSession, spec: QuerySpec, last: int, enough: Callable[[], bool]) -> int | None:
    """Runs it until it is live and has a commit after batch ``last``; gives its number, None if there is none."""
    query = RunningQuery(session, spec, lambda query: None, StartLimit(), writers_of_rehearsal(session))
    end = time.monotonic() + _LONGEST
    query.start()
    try:
        while time.monotonic() < end and not enough() and not query.failures:
            with contextlib.suppress(OSError):
                done = query.checkpoint.last_commit
                if query.live.is_set() and done is not None and done > last:
                    return done
            time.sleep(_LOOK)
        return None
    finally:
        if query.failures:
            log.info("query %s is not rehearsed: %s", spec.id, query.failures[-1].message)
        query.stop()
