"""Whether Spark runs tasks of a query: asked many times a second while queries start."""

from __future__ import annotations

import functools
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["tasks_run"]


def tasks_run(session: SparkSession, query_id: str) -> bool:
    """Whether any task of the query runs; raises what py4j raises of a JVM that is gone."""
    return bool(_running(session._jvm)(session.sparkContext._jsc.sc(), query_id))


@functools.lru_cache(maxsize=1)
def _running(jvm: Any) -> Any:
    """The JVM's method. For each package of its name py4j would look through all jars, each time."""
    return jvm.ksqlpy.internals.Tasks.running
