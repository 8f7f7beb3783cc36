"""Quarantine of executors that come while queries run: no tasks before queries are at rest and they are prepared.

A task of an executor that has just come waits for code to be compiled there, and all other tasks of its query wait for
it. So a query whose executor was lost recovers on those that are left, if they have task slots enough. When all queries
are live again, the new executor loads what tasks need, and gets tasks.

A standalone cluster would start it at once, often on a machine whose processors the recovery needs: a JVM takes some
five seconds of one. So there it is started later, too.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Set
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.spark.gateway import jvm_of

__all__ = ["LONGEST", "REPLACED_AFTER", "Replacements", "admit", "held"]

log = logging.getLogger(__name__)

LONGEST = 60.0
"""Seconds after which an executor is started, or gets tasks, all the same: a query may fail again and again."""

REPLACED_AFTER = 3.0
"""Seconds for which all queries are live and no executor comes or goes, before lost executors are replaced."""


class Replacements:
    """When a standalone cluster starts executors in place of lost ones, or on workers that have come."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._session: SparkSession | None = None
        self._seen: Set[str] = frozenset()
        self._since = self._asked = 0.0

    def look(self, session: SparkSession, executors: Set[str], *, needed: bool, live: bool) -> None:
        """To be called about once a second.

        ``executors``: the ids of those that are there; ``needed``: whether queries lack task slots: then it is done at
        once. ``live``: whether all queries have their tasks.
        """
        now, begins = self._clock(), session is not self._session
        if begins or executors != self._seen or not live:
            self._since = now
        if begins:
            self._asked = now
        rested = now - max(self._since, self._asked) >= REPLACED_AFTER
        if wanted := needed or rested or now - self._asked > LONGEST:
            self._asked = now
        if wanted or begins:
            jvm = jvm_of(session)
            jvm.ksqlpy.cluster.ExecutorQuarantine.replace(wanted)
        self._session, self._seen = session, executors


def held(session: SparkSession) -> frozenset[str]:
    """The ids of executors that get no tasks yet."""
    return frozenset(_held(session))


def _held(session: SparkSession) -> dict[str, dict[str, Any]]:
    jvm = jvm_of(session)
    found: dict[str, dict[str, Any]] = json.loads(jvm.ksqlpy.cluster.ExecutorQuarantine.held())
    return found


def admit(session: SparkSession, *, needed: bool, live: bool) -> None:
    """Holds back executors that come from now on, and admits those for which it is time; to be called now and then.

    ``needed``: whether queries lack task slots: then they are admitted as they are. ``live``: whether all queries
    have their tasks: then they are prepared, and admitted when that is done.
    """
    jvm = jvm_of(session)
    quarantine = jvm.ksqlpy.cluster.ExecutorQuarantine
    quarantine.hold()
    waiting = _held(session)
    if waiting:
        quarantine.prepare(live)
    for id_, state in waiting.items():
        if needed or state["prepared"] or state["seconds"] > LONGEST:
            log.info("executor %s gets tasks, %.0f s after it came", id_, state["seconds"])
            quarantine.admit(id_)
