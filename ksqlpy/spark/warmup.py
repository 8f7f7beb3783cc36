"""Makes the first statement of a fresh server as quick as the later ones.

A JVM is slow where it has not been yet: parser, optimizer, code generation, state store, record readers, Kafka clients.
In the background a query in real-time mode, which reads the command log and gives no row, goes through most of them
once. If nothing is asked of the server meanwhile, two over invented records follow, on a cluster with a task in each
executor. Executors that come later need these two only. They write to no topic. A standby rehearses the queries of its
service instead, if there are any.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from pyspark.sql import SparkSession

from ksqlpy.analysis import Text, analyze_create, analyze_query
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import reason_of
from ksqlpy.plan import Plan, build_plan
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.output import kafka_output
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.rehearsal import rehearse
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.start_limit import StartLimit
from ksqlpy.spark.writers import writers_of
from ksqlpy.sql import nodes, parse

__all__ = ["WarmUp"]

IDLE_SECONDS = 3.0

log = logging.getLogger(__name__)

_SOURCES = """
CREATE STREAM S (K STRING KEY, V INT, D DECIMAL(10, 2), T STRING) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
CREATE TABLE T (K STRING PRIMARY KEY, N STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');
CREATE STREAM LOG (X STRING) WITH (KAFKA_TOPIC = '{command_log}', VALUE_FORMAT = 'JSON');
"""
_LIVE = "SELECT X FROM LOG WHERE X IS NOT NULL EMIT CHANGES;"
_QUERIES = (
    "SELECT S.K, COUNT(*), SUM(D), UCASE(N) FROM S JOIN T ON S.K = T.K GROUP BY S.K, UCASE(N) EMIT CHANGES;",
    "SELECT K, CASE WHEN V > 1 THEN 'a' ELSE T END AS C, V * 2 AS W FROM S WHERE V >= 0 EMIT CHANGES;",
)
_RECORD = (
    "cast('k' AS binary) AS key",
    """cast('{"V": 1, "D": "1.50", "T": "x", "N": "n"}' AS binary) AS value""",
    "CASE WHEN value % 2 = 0 THEN 's' ELSE 't' END AS topic",
    "0 AS partition",
    "value AS offset",
    "timestamp",
)


def _plan(sql: str, catalog: Catalog) -> Plan:
    node = parse(sql)[0].node
    assert isinstance(node, nodes.Query)
    return build_plan(analyze_query(node, catalog, Text(sql), persistent=False))


class WarmUp:
    """Warms up in a thread of its own, which ends by itself."""

    def __init__(
        self,
        session: SparkSession,
        connection: KafkaConnection,
        command_log: str,
        folder: Callable[[], AbstractContextManager[str]],
        busy: Callable[[], bool] = lambda: False,
        executors: int = 1,
        *,
        driver: bool = True,
        rehearsed: Sequence[QuerySpec] = (),
    ) -> None:
        """``folder``: makes one for the state of its queries, a path or a URI.

        ``busy``: whether there is something better to do; ``executors``: so many take part; ``driver``: it, too.
        ``rehearsed``: queries that run instead of all that, see :mod:`ksqlpy.spark.rehearsal`.
        """
        self._session, self._connection, self._command_log = session, connection, command_log
        self._folder, self._busy, self._executors, self._driver = folder, busy, executors, driver
        self._rehearsed = rehearsed
        self.complete = False
        """Whether all of it was done."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def wait(self) -> None:
        """Returns when it has ended."""
        self._thread.join()

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ends it early; returns when nothing of it runs any more."""
        self._stop.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        try:
            with self._folder() as folder, contextlib.ExitStack() as stack:
                if self._rehearsed:  # of more use than what is made up
                    rehearse(self._session, self._rehearsed, folder, self._enough)
                    self.complete = not self._enough()
                else:
                    self._queries(folder, stack)
        except Exception as e:  # without it the first statement is slower, nothing else
            log.info("warm-up ended early: %s", reason_of(e))

    def _enough(self) -> bool:
        return self._stop.is_set() or self._busy()

    def _queries(self, folder: str, stack: contextlib.ExitStack) -> None:
        catalog = Catalog()
        for parsed in parse(_SOURCES.format(command_log=self._command_log)):
            catalog = catalog.with_source(analyze_create(parsed, catalog, Config.of()).source)
        if self._driver:
            self._reader(folder, stack, catalog)
        own, tasks = self._session.newSession(), self._executors
        for i, sql in enumerate(_QUERIES):
            if self._enough():
                return  # real queries warm up as well
            plan = _plan(sql, catalog)
            made_up = own.readStream.format("rate-micro-batch").options(rowsPerBatch=4 * tasks, numPartitions=tasks)
            records = made_up.load().selectExpr(*_RECORD)
            rows = compile_plan(plan, records, Distribution(tasks, shuffled=tasks > 1, sorted=i == 0))
            query = (
                kafka_output(plan, rows, "warm-up", "out", "dead")
                .writeStream.format("noop")
                .option("checkpointLocation", f"{folder}/{i}")
                .outputMode("update")
                .trigger(availableNow=True)
                .start()
            )
            stack.callback(query.stop)
            query.awaitTermination(30)
        self.complete = True

    def _reader(self, folder: str, stack: contextlib.ExitStack, catalog: Catalog) -> None:
        """A query in real-time mode, which goes on meanwhile."""
        topic = self._command_log
        spec = QuerySpec(
            "warm-up", _plan(_LIVE, catalog), "out", self._connection, {topic: {"0": 0}}, {topic: 1}, 1, "dead",
            f"{folder}/live", 60_000, exactly_once=False,
        )  # fmt: skip
        live = RunningQuery(self._session, spec, lambda query: None, StartLimit(), writers_of(self._session, None))
        live.start()
        stack.callback(live.stop)
        if live.live.wait(30):
            self._stop.wait(IDLE_SECONDS)
