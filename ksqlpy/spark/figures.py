"""What queries have done so far: read, written, late and failed rows, and how far behind they are."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ksqlpy.spark.gateway import jvm_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from ksqlpy.spark.checkpoint import Checkpoint

__all__ = ["checkpoint_figures", "client_figures", "figures", "forget_figures", "read_up_to"]

log = logging.getLogger(__name__)


def client_figures(query_id: str) -> dict[str, str]:
    """Options of Spark's Kafka source and sink by which their clients are counted (jvm/metrics/ClientFigures.java)."""
    return {"kafka.metric.reporters": "ksqlpy.metrics.ClientFigures", "kafka.ksqlpy.query": query_id}


def figures(session: SparkSession, query_id: str) -> dict[str, Any]:
    """Counts since this JVM started: ``consumed`` and ``sent`` by topic, ``late`` rows of closed windows.

    ``failed``: values that an error made null. ``lag``: in records, None before a consumer knows any. ``latency``: of
    the results of the last one to two minutes, ``p50``, ``p99`` and ``max``, ms from their event time until the brokers
    had them, as Kafka Streams' ``record-e2e-latency``; None without any. ``waiting``: ``partition`` (topic-partition)
    for whose records the others wait, and ``since`` when it has none, ms since 1970; None if none does.
    ``executors``: of a cluster, by their ids: ``consumed``, ``sent``, ``lag`` and ``latency`` of those that are there;
    the other counts are of all, also of executors that were lost.
    """
    try:
        jvm = jvm_of(session)
        found: dict[str, Any] = json.loads(jvm.ksqlpy.metrics.Figures.read(query_id))
    except (Py4JError, ValueError, OSError) as e:
        log.warning("no figures of query %s: %s", query_id, e)
        return {
            "consumed": {},
            "lag": None,
            "sent": {},
            "late": 0,
            "failed": 0,
            "latency": None,
            "waiting": None,
            "executors": {},
        }
    return found


def read_up_to(
    session: SparkSession, query_id: str, begins: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """The next offsets that the consumers of a query will ask for, of partitions that they have read from.

    ``begins``: the first offsets that there are, from which Kafka's own figures count.
    """
    try:
        jvm = jvm_of(session)
        found: dict[str, int] = json.loads(jvm.ksqlpy.metrics.Figures.leads(query_id))
    except (Py4JError, ValueError, OSError) as e:
        log.warning("no figures of query %s: %s", query_id, e)
        return {}
    return {
        topic: {p: first + found[f"{topic}-{p}"] for p, first in partitions.items() if f"{topic}-{p}" in found}
        for topic, partitions in begins.items()
    }


def checkpoint_figures(query: StreamingQuery | None, checkpoint: Checkpoint) -> dict[str, Any]:
    """``lastCommit`` (ms since 1970) and ``stateBytes`` (of files on disk) of a query that runs; null if not known."""
    found: dict[str, Any] = {"lastCommit": None, "stateBytes": None}
    if query is None:
        return found
    try:
        done = query.lastProgress
        found["lastCommit"] = checkpoint.committed_at
    except (Py4JError, PySparkException, OSError) as e:
        log.debug("no progress of %s: %s", query.name, e)
        return found
    if done is not None:
        sizes = [o.customMetrics.get("rocksdbSstFileSize", 0) for o in done.stateOperators]
        found["stateBytes"] = sum(sizes)
    return found


def forget_figures(session: SparkSession, query_id: str) -> None:
    """Drops the counts of a query that has ended for good."""
    try:
        jvm = jvm_of(session)
        jvm.ksqlpy.metrics.Figures.forget(query_id)
    except (Py4JError, OSError) as e:
        log.debug("the figures of query %s stay: %s", query_id, e)
