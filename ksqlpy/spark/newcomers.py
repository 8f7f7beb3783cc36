"""Executors that come while queries run: they get no tasks until queries are at rest, and they are prepared for tasks.

A task of an executor that has just come waits for code to be compiled there, and all other tasks of its query wait for
it. So a query whose executor was lost recovers on those that are left, if they have task slots enough. When all queries
run again, the new executor compiles the code that the others have compiled, and then it gets tasks.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["LONGEST", "admit", "held"]

log = logging.getLogger(__name__)

LONGEST = 60.0
"""Seconds after which an executor gets tasks all the same: there may be a query that never comes to rest."""


def held(session: SparkSession) -> frozenset[str]:
    """The ids of executors that get no tasks yet."""
    return frozenset(_held(session))


def _held(session: SparkSession) -> dict[str, dict[str, Any]]:
    jvm: Any = session._jvm
    found: dict[str, dict[str, Any]] = json.loads(jvm.ksqlpy.cluster.Newcomers.held())
    return found


def admit(session: SparkSession, *, needed: bool, at_rest: bool) -> None:
    """Holds back executors that come from now on, and admits those for which it is time; to be called now and then.

    ``needed``: whether queries lack task slots: then they are admitted as they are. ``at_rest``: whether all queries
    run: then they are prepared, and admitted when that is done.
    """
    jvm: Any = session._jvm
    newcomers = jvm.ksqlpy.cluster.Newcomers
    newcomers.hold()
    waiting = _held(session)
    if waiting:
        newcomers.prepare(at_rest)
    for id_, state in waiting.items():
        if needed or state["prepared"] or state["seconds"] > LONGEST:
            log.info("executor %s gets tasks, %.0f s after it came", id_, state["seconds"])
            newcomers.admit(id_)
