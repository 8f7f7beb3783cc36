"""Runs cases without Kafka: topics are lists, and each query is one batch over its records.

Statements go through the engine itself, which gets stand-ins for what it talks to: topics, command log, producer and
running queries. The plan is compiled as always; only the source and the sink are others. A query reads the records of
its topics in the order in which they came. Where it reads several topics and another query writes one of them, that
order is not known, and it reads by time, a table's records first, as a live query reads its backlog.
"""

from __future__ import annotations

import base64
import itertools
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters import HEADERS
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.errors import KsqlError, reason_of
from ksqlpy.formats import text
from ksqlpy.plan import Plan
from ksqlpy.runtime import Engine
from ksqlpy.runtime.commandlog import CommandLog, Entry
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.checkpoints import Checkpoints
from ksqlpy.spark.clients import tell_registry
from ksqlpy.spark.compile import Distribution, compile_plan
from ksqlpy.spark.figures import counts
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.once import taken_apart
from ksqlpy.spark.output import kafka_output
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.testing.cases import Case
from ksqlpy.testing.check import CaseFailed, Outcome
from ksqlpy.testing.records import DeadLetter, Record, inputs
from ksqlpy.testing.registry import shared_registry
from ksqlpy.udfs.pool import Workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["MemoryEngine", "MemoryKafka", "MemoryRunner", "Stored", "ordered", "run_query"]

log = logging.getLogger(__name__)

EARLIEST = {"auto.offset.reset": "earliest"}


class MemoryRunner:
    """Runs each case in a micro-batch a query; one runner may serve several threads.

    ``folder``: for the files and checkpoints of the running cases, best in memory.
    """

    def __init__(self, session: SparkSession, folder: Path | None = None) -> None:
        self._session = session
        self._folder = folder

    def run(self, case: Case) -> Outcome:
        """Runs the case; raises CaseFailed if a query fails, and FileProblem."""
        engine = MemoryEngine(self._session)
        try:
            for sql in case.texts:
                engine.execute(sql, EARLIEST)
        except KsqlError as e:
            return Outcome(error=e.render())
        for record in inputs(case, engine.catalog.sources, engine.catalog_service.written):
            engine.broker.append(record)
        dead: list[DeadLetter] = []
        failed: dict[str, int] = {}
        with scratch_folder("ksqlpy-case-", self._folder) as folder:
            for number, (query_id, spec) in enumerate(engine.ordered_specs()):
                counted = f"{query_id} {uuid.uuid4().hex}"  # cases that run at once name their queries alike
                try:
                    dead += run_query(spec, engine, folder / str(number), ordered(spec, engine), counted_as=counted)
                except Exception as e:  # whatever Spark raises belongs to the case
                    why = reason_of(e)
                    raise CaseFailed(f"{case.where()}: query {query_id} failed: {why}") from e
                failed[query_id] = counts(self._session, counted).failed
        return Outcome(engine.catalog.sources, engine.broker.records(), dead, failed=failed)


# ---------------------------------------------------------------- one query

_SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, ts BIGINT,"
    " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_NAMES = ("key", "value", "topic", "partition", "offset", "ts", "headers")
_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp_millis(ts) AS timestamp")

FEW = 100
"""So many records are a part of the text of a plan without state, which Spark then computes while it plans: without a
job, and without compiling Java for it. The text of many would take longer to read than their file."""

_SHORT = 100_000
"""Characters of such a text at most."""


def run_query(
    spec: QuerySpec, engine: MemoryEngine, folder: Path, stored: Sequence[Stored], *, counted_as: str = ""
) -> list[DeadLetter]:
    """Runs a query over records, puts its results into its topic, and returns its dead letters.

    ``folder``: for its files; a query that ran in it before goes on with its state. ``stored``: what its topics hold
    that it has not read yet, in the order of reading. ``counted_as``: the name under which failed rows are counted.
    Raises what Spark raises.
    """
    if not stored:
        return []
    tell_registry(engine.session, spec.registry)
    records = None if spec.plan.stateful else _in_text(engine.session, stored)
    if records is None:
        records = _in_file(engine.session.newSession(), folder, stored, stream=spec.plan.stateful)
    letters = not isinstance(spec.sink, str)
    given = records.selectExpr(*_COLUMNS, "headers")
    rows = compile_plan(spec.plan, given, Distribution(1, shuffled=False), name=counted_as, letters=letters)
    output = kafka_output(spec.plan, rows, spec.id, spec.sink, spec.dead_topic, counted_as=counted_as)
    found = _results(output, folder) if spec.plan.stateful else output.collect()
    return [letter for row in found if (letter := engine.take(row, spec.dead_topic))]


def _in_text(session: SparkSession, stored: Sequence[Stored]) -> DataFrame | None:
    """The records, if they are few and short; None for others."""
    if len(stored) > FEW or sum(len(s.record.value or b"") + len(s.record.key or b"") for s in stored) > _SHORT // 2:
        return None
    rows = ", ".join(map(_as_values, stored))
    return session.sql(f"SELECT * FROM VALUES {rows} AS r({', '.join(map(text.column, _NAMES))})")


def _in_file(session: SparkSession, folder: Path, stored: Sequence[Stored], *, stream: bool) -> DataFrame:
    """The records in the next file of the folder; a stream goes on behind those before."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    file = folder / "in" / f"{len(list((folder / 'in').iterdir()))}.json"
    file.write_text("\n".join(map(_as_json, stored)), encoding="utf-8")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    if stream:
        return session.readStream.schema(_SCHEMA).json(str(file.parent))
    return session.read.schema(_SCHEMA).json(str(file))


def _results(output: DataFrame, folder: Path) -> list[Any]:
    rows: list[Any] = []
    # The sink "memory" would not go on from a checkpoint.
    query = (
        output.writeStream.foreachBatch(lambda batch, number: rows.extend(batch.collect()))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return rows


def ordered(spec: QuerySpec, engine: MemoryEngine) -> list[Stored]:
    """The records of the topics of a query, in the order in which it reads them."""
    found = [
        s for topic, first in spec.offsets.items() for s in engine.broker.log[topic] if s.offset >= first.get("0", 0)
    ]
    if len(spec.offsets) > 1 and any(s.written_by_query for s in found):
        streams = {r.source.topic for r in spec.plan.streams}
        reached: dict[str, int] = {}  # a topic's records stay in their order
        turns = {}
        for s in sorted(found, key=lambda s: s.offset):
            turns[s.record.topic, s.offset] = reached[s.record.topic] = max(s.time, reached.get(s.record.topic, s.time))
        return sorted(found, key=lambda s: (turns[s.record.topic, s.offset], s.record.topic in streams, s.arrival))
    return sorted(found, key=lambda s: s.arrival)


def _as_values(stored: Stored) -> str:
    record = stored.record
    headers = ", ".join(f"struct({text.string(n)} AS key, {_binary(v)} AS value)" for n, v in record.headers)
    given = f"array({headers})" if headers else "cast(array() AS array<struct<key: string, value: binary>>)"
    parts = [_binary(record.key), _binary(record.value), text.string(record.topic)]
    return f"({', '.join(parts)}, 0, {stored.offset}L, cast('{stored.time}' AS bigint), {given})"


def _binary(data: bytes | None) -> str:
    return "cast(null AS binary)" if data is None else f"X'{data.hex()}'"


def _as_json(stored: Stored) -> str:
    record = stored.record
    return json.dumps(
        {
            "key": _base64(record.key),
            "value": _base64(record.value),
            "topic": record.topic,
            "partition": 0,
            "offset": stored.offset,
            "ts": stored.time,
            "headers": [{"key": n, "value": _base64(v)} for n, v in record.headers],
        }
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


# ---------------------------------------------------------------- stand-ins


@dataclass(frozen=True)
class Stored:
    """A record where it lies: ``arrival`` counts over all topics; ``time`` is in ms.

    ``given``: whether it is an input of a case, not inserted by a statement or written by a query.
    """

    record: Record
    arrival: int
    offset: int
    time: int
    written_by_query: bool
    given: bool = False


class MemoryKafka(Kafka):
    """Topics as lists. Records of all partitions of a topic lie in its first one."""

    def __init__(self) -> None:
        self.connection = KafkaConnection("")
        self.log: dict[str, list[Stored]] = {}
        self._partitions: dict[str, int] = {}
        self._arrivals = itertools.count()

    def append(self, record: Record, *, by_query: bool = False, given: bool = False) -> None:
        """Writes a record; without a time it gets the time now."""
        stored = self.log[record.topic]
        now = int(time.time() * 1000) if record.time is None else record.time
        stored.append(Stored(record, next(self._arrivals), len(stored), now, by_query, given))

    def write_at_epoch(
        self,
        session: SparkSession,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> str | None:
        self.append(Record(topic, key, value, 0, tuple(headers)))
        return None

    def records(self) -> dict[str, list[Record]]:
        """The records of all topics."""
        return {
            t: [Record(t, s.record.key, s.record.value, s.time, s.record.headers) for s in stored]
            for t, stored in self.log.items()
        }

    def cluster_id(self) -> str:
        return "memory"

    def topics(self) -> dict[str, list[int]]:
        return {t: [1] * n for t, n in self._partitions.items()}

    def topic_setting(self, topic: str, name: str) -> str | None:
        return None

    def create_topic(self, name: str, partitions: int, replicas: int | None, config: Mapping[str, str]) -> None:
        self._partitions[name] = partitions
        self.log[name] = []

    def delete_topics(self, names: Iterable[str]) -> None:
        for name in names:
            self._partitions.pop(name, None)
            self.log.pop(name, None)

    def last_records(
        self, topic: str, partitions: int, most: int, seconds: float, *, committed: bool
    ) -> list[tuple[bytes | None, bytes | None]]:
        return [(s.record.key, s.record.value) for s in self.log[topic][-most:]]

    def offsets(self, topics: Mapping[str, int], *, latest: bool, committed: bool = False) -> dict[str, dict[str, int]]:
        return {t: {str(p): len(self.log[t]) if latest and p == 0 else 0 for p in range(n)} for t, n in topics.items()}


class _MemoryLog(CommandLog):
    """Counts commands, or only those that start a query."""

    def __init__(self, *, queries_only: bool) -> None:
        self.next_offset = 0
        self.topic = "_ksqlpy-default_command_log"
        self._largest = 2**20
        self._queries_only = queries_only

    def read(self) -> list[Entry]:
        return []

    def append(self, entry: Mapping[str, Any]) -> int:
        self.check_size(entry)
        number = self.next_offset
        if not self._queries_only or entry.get("query") is not None:
            self.next_offset += 1
        return number


class _MemoryProducer:
    """What INSERT VALUES writes with."""

    def __init__(self, broker: MemoryKafka) -> None:
        self._broker = broker

    def produce(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        on_delivery: Callable[[object, object], None],
        timestamp: int | None = None,
    ) -> None:
        self._broker.append(Record(topic, key, value, timestamp))
        on_delivery(None, None)

    def poll(self, timeout: float) -> int:
        return 0


class _NoCheckpoints(Checkpoints):
    def __init__(self) -> None:
        pass

    def folder(self, query_id: str) -> str:
        return query_id

    def reserve(self, query_id: str, mark: str) -> None:
        return None


class _Waiting(Queries):
    """Keeps the queries that are to be run once the records are there."""

    def __init__(self, specs: dict[str, QuerySpec]) -> None:
        self._specs = specs
        self.checkpoints = _NoCheckpoints()

    def check_room(
        self, plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int, *, instead_of: str | None = None
    ) -> None:
        return None

    def start(self, spec: QuerySpec) -> RunningQuery:
        self._specs[spec.id] = spec
        return RunningQuery.__new__(RunningQuery)

    def stop(self, query_id: str, *, forget: bool) -> None:
        self._specs.pop(query_id, None)

    def get(self, query_id: str) -> RunningQuery | None:
        return None

    def status(self, query_id: str) -> QueryStatus:
        return QueryStatus(State.RUNNING)


_PYTHON = Workers()
"""Of all engines of the process: they end with it."""


class MemoryEngine(Engine):
    """The engine over the stand-ins; needs no start and no stop.

    ``specs``: the queries that are to be run, in the order of their statements. ``number_queries``: whether their ids
    count queries, not commands.
    """

    def __init__(self, session: SparkSession, *, number_queries: bool = False) -> None:
        registry, name = shared_registry()
        given = {"ksql.schema.registry.url": registry.url(name), "ksqlpy.functions.python.enabled": "true"}
        super().__init__(Config.of(given))
        self.python = _PYTHON
        self.supervisor.driver.session = session
        self.specs: dict[str, QuerySpec] = {}
        self.broker = MemoryKafka()
        self.brokers.kafka = self.broker
        self.brokers.topics = Topics(self.broker, self.config.get("ksql.service.id"))
        self.brokers.log = _MemoryLog(queries_only=number_queries)
        producer: Any = _MemoryProducer(self.broker)
        self.brokers.producer = producer
        self.supervisor.queries = _Waiting(self.specs)
        supervisor: Any = self.supervisor
        supervisor.load_function = lambda definition: None  # its first call does it, if there is one

    def ordered_specs(self) -> list[tuple[str, QuerySpec]]:
        """The queries so that all that write a topic come before those that read it, else as their statements."""
        left, ordered = dict(self.specs), []
        while left:
            written = {id: s.sink if isinstance(s.sink, str) else s.sink.topic for id, s in left.items()}
            ready = (i for i, s in left.items() if not any(t in s.offsets for j, t in written.items() if j != i))
            query_id = next(ready, next(iter(left)))  # a circle of queries begins with its first
            ordered.append((query_id, left.pop(query_id)))
        return ordered

    def take(self, row: Any, dead_topic: str) -> DeadLetter | None:
        """Does with a row what the sink does: a record of its topic, or a dead letter."""
        headers = [(h.key, None if h.value is None else bytes(h.value)) for h in row.headers or ()]
        if row.topic == dead_topic:
            named = {n: v.decode() for n, v in headers if n in HEADERS.values() and v is not None}
            return DeadLetter(named[HEADERS["topic"]], int(named[HEADERS["offset"]]), named[HEADERS["reason"]])
        value, at = taken_apart(bytes(row.value))
        record = Record(
            row.topic,
            None if row.key is None else bytes(row.key),
            value,
            at if at >= 0 else None,
            tuple(headers),
        )
        self.broker.append(record, by_query=True)
        return None
