"""Which topics the running queries write: who reads them waits for what is still due (``jvm/tasks/Upstream.java``)."""

from __future__ import annotations

import contextlib
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.spark.session import is_local
from ksqlpy.spark.spec import QuerySpec

__all__ = ["announce", "tell_failing", "withdraw"]


def announce(session: SparkSession, spec: QuerySpec) -> None:
    """Says that a query starts; to be called before it and those that read its topic do.

    Not of push queries, whose topic nobody else reads, nor of one in micro-batches or on a cluster, of which this
    process does not know how far they are.
    """
    if not isinstance(spec.sink, str) and spec.batch_ms is None and is_local(session):
        _upstream(session).writes(spec.id, "\n".join(spec.plan.topics), spec.sink.topic)


def withdraw(session: SparkSession, query_id: str) -> None:
    """Says that a query was stopped, so that nobody waits for it."""
    with contextlib.suppress(Py4JError, OSError):  # with the JVM all that waits is gone, too
        _upstream(session).ends(query_id)


def tell_failing(session: SparkSession, query_id: str, *, failing: bool) -> None:
    """Says whether a query fails: one that does so for long is not waited for."""
    with contextlib.suppress(Py4JError, OSError):
        _upstream(session).fails(query_id, failing)


def _upstream(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.ksqlpy.tasks.Upstream
