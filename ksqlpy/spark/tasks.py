"""Whether Spark runs tasks of a query: asked many times a second while queries start."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from ksqlpy.spark.gateway import jvm_of, scala_context

__all__ = ["ENDING", "tasks_end", "tasks_run"]

ENDING = 120.0
"""Seconds in which Spark's tasks have to end after their query was stopped."""


def tasks_run(session: SparkSession, query_id: str) -> bool:
    """Whether any task of the query runs; raises what py4j raises of a JVM that is gone."""
    return bool(_running(jvm_of(session))(scala_context(session), query_id))


def tasks_end(session: SparkSession, query_id: str, enough: Callable[[], bool] = lambda: False) -> bool:
    """Waits while Spark runs tasks of this query, which go on after it was stopped; whether they ended in time."""
    end = time.monotonic() + ENDING
    while tasks_run(session, query_id) and not enough():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@functools.lru_cache(maxsize=1)
def _running(jvm: Any) -> Any:
    """The JVM's method. For each package of its name py4j would look through all jars, each time."""
    return jvm.ksqlpy.internals.Tasks.running
