"""Which topics the running queries write: who reads them waits for what is still due (``jvm/tasks/Upstream.java``)."""

from __future__ import annotations

import contextlib
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.spark.failure import Failure
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.spec import QuerySpec

__all__ = ["announce", "tell_failing", "withdraw"]

_FAILING, _OUTAGE = 60, 600
"""Seconds for which a query is waited for that fails by itself, or since something that it needs is away."""


def announce(session: SparkSession, spec: QuerySpec) -> None:
    """Says that a query starts; to be called before it and those that read its topic do.

    Not of push queries, whose topic nobody else reads, nor of one in micro-batches, whose progress nobody knows.
    """
    if not isinstance(spec.sink, str) and spec.batch_ms is None:
        _upstream(session).writes(spec.id, "\n".join(spec.plan.topics), spec.sink.topic)


def withdraw(session: SparkSession, query_id: str) -> None:
    """Says that a query was stopped, so that nobody waits for it."""
    with contextlib.suppress(Py4JError, OSError):  # with the JVM all that waits is gone, too
        _upstream(session).ends(query_id)


def tell_failing(session: SparkSession, query_id: str, failure: Failure | None) -> None:
    """Says that a query fails, and why, or that it runs. One that fails for long is not waited for.

    Where the cause lies outside of it, as with brokers that are away, it will go on one day: that takes longer.
    """
    seconds = -1 if failure is None else _OUTAGE if failure.kind == "SYSTEM" else _FAILING
    with contextlib.suppress(Py4JError, OSError):
        _upstream(session).fails(query_id, seconds * 1000)


def _upstream(session: SparkSession) -> Any:
    jvm = jvm_of(session)
    return jvm.ksqlpy.tasks.Upstream
