"""What queries have done so far, as their JVMs count it, and how far their checkpoints are."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import orjson
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ksqlpy.figures import Counts, JvmFigures, Machine, Progress, Seen, Wait
from ksqlpy.spark.gateway import jvm_of, scala_query

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from ksqlpy.spark.checkpoint import Checkpoint

__all__ = [
    "all_figures",
    "checkpoint_progress",
    "client_figures",
    "counts",
    "follow",
    "forget_figures",
    "function_failures",
    "load_function",
    "read_up_to",
]

log = logging.getLogger(__name__)

_MACHINE = ("heapUsed", "heapMax", "collections", "collectionMs", "threads", "cpuMs")
"""The fields of :class:`~ksqlpy.figures.Machine`, as jvm/metrics/Machine.java calls them."""


def client_figures(query_id: str) -> dict[str, str]:
    """Options of Spark's Kafka source and sink by which their clients are counted (jvm/metrics/ClientFigures.java)."""
    return {"kafka.metric.reporters": "ksqlpy.metrics.ClientFigures", "kafka.ksqlpy.query": query_id}


def counts(session: SparkSession, query_id: str) -> Counts:
    """Counts of a query since this JVM started, of all JVMs together; none where they do not tell."""
    return _told(session, query_id) or Counts()


def read_up_to(
    session: SparkSession, query_id: str, begins: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """The next offsets that the consumers of a query will ask for, of partitions that they have read from.

    ``begins``: the first offsets that there are, from which Kafka's own figures count.
    """
    told = _told(session, query_id)
    if told is None:
        return {}
    leads = told.leads
    return {
        topic: {p: first + leads[f"{topic}-{p}"].value for p, first in partitions.items() if f"{topic}-{p}" in leads}
        for topic, partitions in begins.items()
    }


def follow(session: SparkSession, query_id: str, query: StreamingQuery) -> None:
    """Has the JVM tell of the batches of a query that begins to run."""
    jvm_of(session).ksqlpy.metrics.Batches.follow(query_id, scala_query(query))


_READ_ALL: WeakKeyDictionary[object, Callable[[], str]] = WeakKeyDictionary()
"""By JVM: PySpark asks it at each dot of a name what stands there, and its answers wait for a processor, too."""


def all_figures(session: SparkSession) -> JvmFigures | None:
    """What the JVM tells of all queries at once, by one call; None if it does not.

    Of ``leads`` nothing, which no metric needs.
    """
    try:
        jvm = jvm_of(session)
        if jvm not in _READ_ALL:
            _READ_ALL[jvm] = jvm.ksqlpy.metrics.Figures.readAll
        told = orjson.loads(_READ_ALL[jvm]())
    except (Py4JError, ValueError, OSError) as e:
        log.warning("no figures of queries: %s", e)
        return None
    return JvmFigures(
        {query_id: _total(of) for query_id, of in told["queries"].items()},
        {
            query_id: Progress(batch["committed"], batch["state"])
            for query_id, of in told["queries"].items()
            if (batch := of["batch"]) is not None
        },
        Machine(*(told["machine"][name] for name in _MACHINE)),
    )


def _told(session: SparkSession, query_id: str) -> Counts | None:
    try:
        jvm = jvm_of(session)
        return _total(json.loads(jvm.ksqlpy.metrics.Figures.read(query_id)))
    except (Py4JError, ValueError, OSError) as e:
        log.warning("no figures of query %s: %s", query_id, e)
        return None


def _total(told: Mapping[str, Any]) -> Counts:
    """The counts of all JVMs, from the JSON of jvm/metrics/Figures.java."""
    here = _counts(told["here"])
    if not told["executors"] and not told["gone"]:
        return here
    executors = {name: _counts(report) for name, report in told["executors"].items()}
    gone = _counts({"sums": told["gone"]})
    return replace(reduce(add, executors.values(), here + gone), executors=executors)


def _counts(report: Mapping[str, Any]) -> Counts:
    """The counts of one JVM, from its report."""
    ages = report.get("ages", {})
    sums: dict[str, dict[str, int]] = {"consumed": {}, "sent": {}, "took": {}, "late": {}, "failed": {}}
    for name, n in report["sums"].items():
        kind, _, of = name.partition(":")
        if kind in sums:
            sums[kind][of] = n

    def seen(kind: str) -> dict[str, Seen]:
        return {place: Seen(n, *([ages[place]] if place in ages else [])) for place, n in report.get(kind, {}).items()}

    waiting = report.get("waiting")
    return Counts(
        consumed=sums["consumed"],
        sent=sums["sent"],
        late=sums["late"].get("", 0),
        failed=sums["failed"].get("", 0),
        lags=seen("lags"),
        leads=seen("leads"),
        durations=sums["took"],
        took={int(ms): n for ms, n in report.get("latency", {}).items()},
        waiting=None if waiting is None else Wait(waiting["partition"], waiting["since"]),
    )


def checkpoint_progress(query: StreamingQuery | None, checkpoint: Checkpoint) -> Progress:
    """Of a query that runs; nothing is known of another one."""
    if query is None:
        return Progress()
    try:
        done, committed = query.lastProgress, checkpoint.committed_at
    except (Py4JError, PySparkException, OSError) as e:
        log.debug("no progress of %s: %s", query.name, e)
        return Progress()
    sizes = None if done is None else sum(o.customMetrics.get("rocksdbSstFileSize", 0) for o in done.stateOperators)
    return Progress(committed, sizes)


def forget_figures(session: SparkSession, query_id: str) -> None:
    """Drops the counts of a query that has ended for good."""
    try:
        jvm = jvm_of(session)
        jvm.ksqlpy.metrics.Figures.forget(query_id)
    except (Py4JError, OSError) as e:
        log.debug("the figures of query %s stay: %s", query_id, e)


def load_function(session: SparkSession, call: Mapping[str, Any]) -> None:
    """Has a worker of Spark's JVM load a function in Python, soon; ``call``: as of ``Definition.to_call``."""
    try:
        jvm_of(session).ksqlpy.python.Call.loadSoon(json.dumps(call))
    except (Py4JError, OSError) as e:
        log.debug("%s is loaded by its first call: %s", call["name"], e)


def function_failures(session: SparkSession) -> list[dict[str, Any]]:
    """Failed calls of functions in Python since the last look, and what these print; jvm/python/Failures.java."""
    try:
        found: list[dict[str, Any]] = json.loads(jvm_of(session).ksqlpy.python.Failures.taken())
    except (Py4JError, ValueError, OSError) as e:
        log.debug("no failures of functions: %s", e)
        return []
    return found
