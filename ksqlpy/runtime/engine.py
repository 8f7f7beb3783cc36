"""The engine: the one place where the catalog changes and queries start and end.

A request's statements are checked one after the other against a copy of the catalog; only when all are legal is the
first one done. A change is done in the order topic, command log, catalog, query, so that what is logged can run.
More than 600 lines, since all of it stands behind one lock: what may change together must be seen together.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from ksqlpy import __version__
from ksqlpy.analysis import (
    CreateAs,
    Declare,
    InsertInto,
    Text,
    analyze_create,
    analyze_insert_select,
    check_clauses,
)
from ksqlpy.analysis.windows import LATE_TOPIC
from ksqlpy.catalog import Catalog, PersistentQuery, Source, type_from_json, type_to_json
from ksqlpy.config import Config
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem, EngineProblem, KsqlError, StatementError
from ksqlpy.plan import Plan, build_plan, mode_of
from ksqlpy.runtime import statements
from ksqlpy.runtime.commandlog import CommandLog, query_from_json, query_to_json, source_from_json, source_to_json
from ksqlpy.runtime.deadletters import DeadLetters
from ksqlpy.runtime.ownership import Ownership, identity
from ksqlpy.runtime.push import PushQuery
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.query import QuerySpec, Retry, fingerprint_of
from ksqlpy.spark.session import end_session, has_session, is_alive, start_session
from ksqlpy.spark.warmup import WarmUp
from ksqlpy.sql import Parsed, nodes, parse
from ksqlpy.types import SqlType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COMPATIBLE_VERSION", "Engine"]

log = logging.getLogger(__name__)

COMPATIBLE_VERSION = "0.29.0"
"""The ksqlDB version whose REST API is spoken; clients read it."""


WATCH_SECONDS = 1.0
"""Time between looks at the JVM."""

NOTE_EVERY = 5
"""So many looks between looks at the partitions of topics and the checkpoints of queries."""


class Engine:
    """Runs statements. All methods may be called from any thread; changes happen one at a time."""

    def __init__(self, config: Config, progress: Callable[[str], None] | None = None) -> None:
        self.config = config
        self.catalog = Catalog()
        self.bootstrap = config.get("bootstrap.servers")
        self._progress = progress or (lambda text: None)
        self._lock = threading.RLock()
        self._closing = contextlib.ExitStack()
        self._push: dict[str, PushQuery] = {}
        self._plans: dict[str, Plan] = {}
        self._own_jvm: Path | None = None
        self._ownership: Ownership | None = None
        self._ready = False

    # ------------------------------------------------------------ life

    def start(self) -> None:
        """Starts the broker if none is configured, then Spark; reads the command log and starts its queries.

        Raises EnvironmentProblem for what the machine lacks; nothing is left running then.
        """
        with contextlib.ExitStack() as stack:
            folder = self._folder(stack)
            broker: EmbeddedKafka | None = None
            failure: list[Exception] = []
            if not self.bootstrap:
                self._progress("starting Kafka")
                broker = EmbeddedKafka(
                    port=self.config.number("ksqlpy.kafka.port") or None,
                    folder=folder / "kafka",
                    settings=_BROKER_SETTINGS,
                    progress=self._progress,
                )
                stack.callback(broker.stop)  # ahead of all that needs it, so that it ends last
            else:
                Kafka(self.bootstrap).cluster_id()
            # The broker and Spark's JVM start side by side.
            stack.callback(self._release)
            connecting = threading.Thread(target=self._connect, args=(broker, folder, failure), name="connect")
            connecting.start()
            try:
                self._start_spark(folder, stack)
            finally:
                connecting.join()
            if failure:
                raise failure[0]
            self._open(stack)
            self._closing = stack.pop_all()
        self._ready = True
        self._progress("")

    def _connect(self, broker: EmbeddedKafka | None, folder: Path, failure: list[Exception]) -> None:
        """Starts the broker if it is ours, and takes the service."""
        try:
            if broker is not None:
                broker.start()
                self.bootstrap = broker.bootstrap
                # Who asks for the server's properties learns where its broker is.
                self.config = replace(self.config, values={**self.config.values, "bootstrap.servers": self.bootstrap})
            self.kafka = Kafka(self.bootstrap)
            self.cluster_id = self.kafka.cluster_id()
            self.topics = Topics(self.kafka, self.config.get("ksql.service.id"))
            self.log = CommandLog(self.kafka, self.topics.command_log)
            self.log.make()
            self._ownership = Ownership(self.kafka, self.topics.engine_group, self.topics.command_log, identity(folder))
            self._ownership.take()
        except Exception as e:  # carried to the thread that starts the engine
            failure.append(e)

    def _release(self) -> None:
        if self._ownership is not None:
            self._ownership.release()

    def _folder(self, stack: contextlib.ExitStack) -> Path:
        given = self.config.get("ksqlpy.data.dir")
        if given:
            folder = Path(given).expanduser().absolute()
            folder.mkdir(parents=True, exist_ok=True)
            return folder
        return stack.enter_context(scratch_folder("ksqlpy-"))

    def _start_spark(self, folder: Path, stack: contextlib.ExitStack) -> None:
        master = self.config.get("ksqlpy.spark.master")
        shared = has_session()
        self.session: SparkSession = self._new_session(folder / "spark", self._progress)
        if not shared:  # a process has one session; who made it ends it
            self._own_jvm = folder / "spark"
            stack.callback(lambda: end_session(self.session))
        checkpoints = self.config.get("ksqlpy.checkpoint.dir") or str(folder / "checkpoints")
        # Services may share the folder, and number their queries alike.
        self.queries = Queries(
            self.session,
            master,
            f"{checkpoints}/{self.config.get('ksql.service.id')}",
            internal=self.config.get("ksqlpy.internal.topics.read") == "true",
        )
        stack.callback(self.queries.stop_all)

    def _new_session(self, folder: Path, progress: Callable[[str], None] | None = None) -> SparkSession:
        config = self.config
        return start_session(
            config.get("ksqlpy.spark.master"),
            config.get("ksqlpy.spark.memory"),
            folder,
            progress,
            config.get("ksqlpy.spark.java.options"),
        )

    def _open(self, stack: contextlib.ExitStack) -> None:
        self.dead_letters = DeadLetters(self.kafka, self.topics.dead_letters)
        self.dead_letters.start()
        stack.callback(self.dead_letters.stop)
        self.producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "linger.ms": 0,
                "log_level": 0,
                "acks": "all",
                "partitioner": "murmur2_random",  # as Kafka's Java clients do, Spark's among them
            }
        )
        self._progress("reading the command log")
        for offset, entry in enumerate(self.log.read()):
            self._replay(offset, entry)
        self.queries.clean(self.catalog.queries)
        self.topics.remove_transients()
        self._run_all()
        watching = threading.Event()
        watch = threading.Thread(target=self._watch, args=(watching,), name="watch", daemon=True)
        watch.start()
        stack.callback(watch.join, 60)
        stack.callback(watching.set)
        if self.config.get("ksqlpy.warm.up") == "true":
            warm_up = WarmUp(self.session, self.bootstrap, self.topics.command_log, self.queries.any)
            warm_up.start()
            stack.callback(warm_up.stop)

    def _run_all(self) -> None:
        for query in self.catalog.queries.values():
            if not query.paused:
                self._run(query, self._plans[query.id])

    def _watch(self, ended: threading.Event) -> None:
        """Sees to it, until the engine stops, that the JVM is there, and notes what Spark does not."""
        looked = deaths = 0
        while not ended.wait(WATCH_SECONDS):
            looked += 1
            try:
                if self._ownership is not None and self._ownership.lost.is_set():
                    log.error("%s", _taken())
                    self.queries.stop_all()
                    return
                if self._own_jvm is not None and not is_alive(self.session):
                    deaths += 1
                    self._revive()
                elif looked % NOTE_EVERY == 0:
                    deaths = 0
                    self.queries.note_sinks(self.kafka)
                    with self._lock:
                        self.queries.follow_partitions(self.kafka)
                        self.queries.start_refused()
            except Exception as e:  # whatever it is, the next look may find the world in order again
                log.warning("the watch over queries: %s", e)
                self.queries.tell(e)
                ended.wait(min(30, deaths))

    def _revive(self) -> None:
        """Starts Spark's JVM again, which was killed or ran out of memory, and all queries from their checkpoints."""
        assert self._own_jvm is not None
        log.error("Spark's JVM is gone: it is started again, and all queries with it")
        with self._lock:
            self.queries.abandon()
            end_session(self.session)
            self.session = self._new_session(self._own_jvm)
            self.queries.use(self.session)
            self._run_all()

    def stop(self) -> None:
        """Stops push queries, persistent queries (they go on at the next start), Spark and the embedded broker."""
        self._ready = False
        for push in list(self._push.values()):
            push.close()
        self._closing.close()

    # ------------------------------------------------------------ command log

    def _replay(self, offset: int, entry: Mapping[str, Any]) -> None:
        """Applies an entry to the catalog; touches no topic and starts nothing."""
        if entry["op"] == "create":
            source = source_from_json(entry["source"])
            if entry.get("query") is not None:
                query = query_from_json(entry["query"])
                self._plans[query.id] = self._planned_again(offset, source, query)
                self.catalog = self.catalog.with_query(query)
            self.catalog = self.catalog.with_source(source)
        elif entry["op"] == "insert":
            query = query_from_json(entry["query"])
            self._plans[query.id] = self._planned_again(offset, self.catalog.sources[query.sink], query)
            self.catalog = self.catalog.with_query(query)
        elif entry["op"] == "type":
            self.catalog = self.catalog.with_type(entry["name"], type_from_json(entry["type"]))
        elif entry["op"] == "drop-type":
            self.catalog = self.catalog.without_type(entry["name"])
        elif entry["op"] == "drop":
            self.catalog = self.catalog.without_source(entry["source"])
            if entry.get("query") is not None:
                self.catalog = self.catalog.without_query(entry["query"])
        elif entry["op"] == "terminate":
            self.catalog = self.catalog.without_query(entry["query"])
        elif entry["op"] in ("pause", "resume"):
            query = self.catalog.queries[entry["query"]]
            self.catalog = self.catalog.with_query(replace(query, paused=entry["op"] == "pause"))

    def _planned_again(self, offset: int, source: Source, query: PersistentQuery) -> Plan:
        [parsed] = parse(query.statement)
        made: Declare | CreateAs | InsertInto
        if isinstance(parsed.node, nodes.InsertSelect):
            made = analyze_insert_select(parsed, self.catalog, self.config.for_statement(query.properties))
        else:
            made = analyze_create(parsed, self.catalog, self.config.for_statement(query.properties))
        assert not isinstance(made, Declare)
        if made.source.columns != source.columns:
            raise EngineProblem(
                "command-log",
                f"entry {offset} of the command log: {source.name} would now have other columns",
                hint="start the version of ksqlpy that wrote it, drop the query there, and create it anew",
            )
        return build_plan(made.query)

    # ------------------------------------------------------------ statements

    def execute(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Runs all statements of a text; returns one entity for each that has an answer.

        ``properties``, ``variables``: of the session; SET and DEFINE in the text change them for what follows. Raises
        KsqlError; on it ``statement_text`` names the statement and ``entities`` holds the answers of those done before.
        """
        parsed = self._parsed(sql, properties, variables)
        overrides = dict(properties or {})
        entities: list[dict[str, Any]] = []
        with self._lock:
            self._check_owner()
            sandbox = statements.Sandbox(self, self.catalog, dict(overrides))
            for statement in parsed:
                with _named(statement, entities):
                    statements.check(statement, sandbox)
            context = statements.Context(self, overrides, dict(variables or {}))
            for statement in parsed:
                with _named(statement, entities):
                    entity = statements.run(statement, context)
                if entity is not None:
                    entities.append(entity)
        return entities

    def _parsed(
        self, sql: str, properties: Mapping[str, object] | None, variables: Mapping[str, str] | None
    ) -> list[Parsed]:
        config = self.config.for_statement(properties or {})
        return parse(sql, variables, substitution=config.get("ksql.variable.substitution.enable") == "true")

    @contextlib.contextmanager
    def unlocked(self) -> Iterator[None]:
        """Lets other requests in while a statement of this one waits for something outside."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    def _check_owner(self) -> None:
        if self._ownership is not None and self._ownership.lost.is_set():
            raise _taken()

    def create(self, made: Declare | CreateAs, properties: Mapping[str, object]) -> tuple[int, str | None]:
        """Makes a checked source and its query; returns the command's number and the id of the query."""
        with self._lock:
            if isinstance(made, Declare):
                self.topics.ensure_declared(made)
                sequence = self.log.append({"op": "create", "source": source_to_json(made.source), "query": None})
                self.catalog = self.catalog.with_source(made.source)
                return sequence, None
            config = self.config.for_statement(properties)
            plan = build_plan(made.query)
            prefix = "CTAS" if made.source.kind == "TABLE" else "CSAS"
            query_id = made.query_id or f"{prefix}_{made.source.name.upper()}_{self.log.next_offset}"
            query, partitions = self._persistent(query_id, made.source, made.source.statement, plan, config, properties)
            self.queries.check_room(plan, partitions, query.shuffle_partitions)
            self.topics.ensure_sink(made, partitions)
            self.topics.ensure_late(plan.late_topic)
            source = replace(made.source, query=query.id)
            sequence = self.log.append(
                {"op": "create", "source": source_to_json(source), "query": query_to_json(query)}
            )
            self.catalog = self.catalog.with_source(source).with_query(query)
            self._plans[query.id] = plan
            self._run(query, plan)
            return sequence, query.id

    def insert_into(self, made: InsertInto, properties: Mapping[str, object]) -> tuple[int, str]:
        """Makes a checked query that writes an existing stream; returns the command's number and the query's id."""
        with self._lock:
            config = self.config.for_statement(properties)
            plan = build_plan(made.query)
            query_id = made.query_id or f"INSERTQUERY_{self.log.next_offset}"
            query, partitions = self._persistent(query_id, made.source, made.statement, plan, config, properties)
            self.queries.check_room(plan, partitions, query.shuffle_partitions)
            sequence = self.log.append({"op": "insert", "query": query_to_json(query)})
            self.catalog = self.catalog.with_query(query)
            self._plans[query.id] = plan
            self._run(query, plan)
            return sequence, query.id

    def upgrade(self, made: CreateAs, query: PersistentQuery) -> int:
        """Lets a query go on with another statement, from where it is and with its state; returns the command's number.

        The new plan is known to fit the state (:func:`ksqlpy.plan.upgrade_problem`).
        """
        with self._lock:
            old, new = self._plans[query.id], build_plan(made.query)
            earlier = dict.fromkeys((*query.upgraded_from, fingerprint_of(old)))
            earlier.pop(fingerprint_of(new), None)
            query = replace(query, statement=made.source.statement, upgraded_from=tuple(earlier))
            source = replace(made.source, query=query.id)
            sequence = self.log.append(
                {"op": "create", "source": source_to_json(source), "query": query_to_json(query)}
            )
            self.catalog = self.catalog.with_source(source).with_query(query)
            self._plans[query.id] = new
            if not query.paused:
                self.queries.stop(query.id, forget=False)
                self._run(query, new)
            return sequence

    def alter(self, source: Source) -> int:
        """Gives a source another definition, which fits its records and readers; returns the command's number."""
        with self._lock:
            sequence = self.log.append({"op": "create", "source": source_to_json(source), "query": None})
            self.catalog = self.catalog.with_source(source)
            return sequence

    def make_type(self, name: str, type_: SqlType | None) -> int:
        """Makes a type, or with None forgets it; returns the command's number."""
        with self._lock:
            if type_ is None:
                sequence = self.log.append({"op": "drop-type", "name": name})
                self.catalog = self.catalog.without_type(name)
            else:
                sequence = self.log.append({"op": "type", "name": name, "type": type_to_json(type_)})
                self.catalog = self.catalog.with_type(name, type_)
            return sequence

    def _persistent(
        self,
        query_id: str,
        sink: Source,
        statement: str,
        plan: Plan,
        config: Config,
        properties: Mapping[str, object],
    ) -> tuple[PersistentQuery, dict[str, int]]:
        sources = {s.relation.source.name: s.relation.source for s in plan.scans}
        partitions = self.topics.partitions([s.topic for s in sources.values()])
        if plan.windowed:  # part of the state, so that a server that is started with another value changes nothing
            properties = {**properties, LATE_TOPIC: config.get(LATE_TOPIC)}
        query = PersistentQuery(
            query_id,
            statement,
            sink.name,
            tuple(sources),
            {k: str(v) for k, v in properties.items()},
            self._first_offsets(tuple(sources.values()), partitions, config),
            config.number("ksql.query.parallelism") or max(partitions.values()),
        )
        return query, partitions

    def _first_offsets(
        self, sources: tuple[Source, ...], partitions: Mapping[str, int], config: Config
    ) -> dict[str, dict[str, int]]:
        """Where a new query begins: auto.offset.reset, but tables at their start unless it is set (as in ksqlDB)."""
        reset = config.get("auto.offset.reset")
        explicit = config.is_set("auto.offset.reset")
        offsets: dict[str, dict[str, int]] = {}
        for latest in (True, False):
            topics = {
                s.topic: partitions[s.topic]
                for s in sources
                if (reset == "latest" and (explicit or s.kind == "STREAM")) == latest
            }
            if topics:
                offsets |= self.kafka.offsets(topics, latest=latest)
        return offsets

    def _run(self, query: PersistentQuery, plan: Plan) -> None:
        found = self.kafka.partitions(query.offsets)  # a topic may have got more since
        partitions = {t: max(len(p), found.get(t, 0)) for t, p in query.offsets.items()}
        config = self.config.for_statement(query.properties)
        self.queries.start(
            QuerySpec(
                query.id,
                plan,
                self.catalog.sources[query.sink],
                self.bootstrap,
                query.offsets,
                partitions,
                query.shuffle_partitions,
                self.topics.dead_letters,
                self.queries.checkpoint(query.id),
                config.number("commit.interval.ms"),
                exactly_once=config.get("processing.guarantee") == "exactly_once",
                retry=Retry(
                    config.number("ksql.query.retry.backoff.initial.ms") / 1000,
                    config.number("ksql.query.retry.backoff.max.ms") / 1000,
                ),
                upgraded_from=query.upgraded_from,
                batch_ms=mode_of(plan, config).batch_ms,
            )
        )

    def pause(self, query_id: str, *, paused: bool) -> int:
        """Pauses or resumes a persistent query; its state stays. Returns the command's number."""
        with self._lock:
            query = self.catalog.queries[query_id]
            if query.paused == paused:
                return self.log.next_offset - 1
            if not paused:
                plan = self._plans[query_id]
                self.queries.check_room(plan, self.topics.partitions(query.offsets), query.shuffle_partitions)
            sequence = self.log.append({"op": "pause" if paused else "resume", "query": query_id})
            self.catalog = self.catalog.with_query(replace(query, paused=paused))
            if paused:
                self.queries.stop(query_id, forget=False)
            else:
                self._run(self.catalog.queries[query_id], self._plans[query_id])
            return sequence

    def state(self, query_id: str) -> str:
        """RUNNING, PAUSED or ERROR."""
        query = self.catalog.queries.get(query_id)
        return "PAUSED" if query is not None and query.paused else self.queries.state(query_id)

    def drop(self, source: Source, *, delete_topic: bool) -> int:
        """Removes a source that nothing else uses, and the query that made it; returns the command's number."""
        with self._lock:
            query = source.query if source.query in self.catalog.queries else None
            sequence = self.log.append({"op": "drop", "source": source.name, "query": query})
            self.catalog = self.catalog.without_source(source.name)
            if query is not None:
                self._end(query)
            if delete_topic:
                self.topics.delete(source.topic)
            return sequence

    def terminate(self, query_id: str) -> int:
        """Ends a persistent query for good; its sink stays. Returns the command's number."""
        with self._lock:
            sequence = self.log.append({"op": "terminate", "query": query_id})
            self._end(query_id)
            return sequence

    def _end(self, query_id: str) -> None:
        self.catalog = self.catalog.without_query(query_id)
        self._plans.pop(query_id, None)
        self.queries.stop(query_id, forget=True)

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a persistent query."""
        return self._plans[query_id]

    # ------------------------------------------------------------ push queries

    def push(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> PushQuery:
        """Starts SELECT … EMIT CHANGES; raises KsqlError. The caller reads its rows and closes it."""
        parsed = self._parsed(sql, properties, variables)
        text = Text(sql, self.catalog.types)
        if len(parsed) == 1:
            check_clauses(parsed[0].node, text)
        if len(parsed) != 1 or not isinstance(parsed[0].node, nodes.Query | nodes.UnionAll):
            node = parsed[0].node if parsed else None
            raise StatementError(
                "not-a-query", "one SELECT … EMIT CHANGES is wanted here", span=text.span(node), sql=sql
            )
        with self._lock, _named(parsed[0], []):
            self._check_owner()
            sandbox = statements.Sandbox(self, self.catalog, dict(properties or {}))
            config = sandbox.config
            typed, plan = statements.check_push(parsed[0], sandbox)
            sources = tuple({s.relation.source.name: s.relation.source for s in plan.scans}.values())
            partitions = self.topics.partitions([s.topic for s in sources])
            width = config.number("ksql.query.parallelism") or max(partitions.values())
            self.queries.check_room(plan, partitions, width)
            query_id = f"transient_{sources[0].name[:100]}_{uuid.uuid4().hex[:12]}"  # part of a topic's name
            topic = self.topics.make_transient(query_id)
            spec = QuerySpec(
                query_id,
                plan,
                topic,
                self.bootstrap,
                self._first_offsets(sources, partitions, config),
                partitions,
                width,
                self.topics.dead_letters,
                self.queries.checkpoint(query_id),
                config.number("commit.interval.ms"),
                exactly_once=False,  # nobody reads its topic after it has ended
                batch_ms=mode_of(plan, config).batch_ms,
            )
            self.queries.start(spec)
            current = partial(self.queries.get, query_id)
            push = PushQuery(query_id, current, typed.columns, topic, typed.limit, self.kafka.reader(), self._closed)
            self._push[query_id] = push
        return push

    def _closed(self, push: PushQuery) -> None:
        self._push.pop(push.id, None)
        self.queries.stop(push.id, forget=True)
        with contextlib.suppress(KsqlError):
            self.topics.remove_transient(push.id)

    @property
    def open_push_queries(self) -> tuple[str, ...]:
        """Ids of the push queries that are open."""
        return tuple(self._push)

    def close_query(self, query_id: str) -> bool:
        """Ends a push query; False if there is none of that id."""
        push = self._push.get(query_id)
        if push is None:
            return False
        push.close()
        return True

    # ------------------------------------------------------------ about

    def info(self) -> dict[str, Any]:
        """What GET /info tells."""
        return {
            "version": COMPATIBLE_VERSION,
            "kafkaClusterId": self.cluster_id,
            "ksqlServiceId": self.config.get("ksql.service.id"),
            "serverStatus": "RUNNING",
            "ksqlpyVersion": __version__,
        }

    def health(self) -> dict[str, Any]:
        """What GET /healthcheck tells."""
        lost = None
        try:
            lost = self.log.problem()
            kafka = True
        except KsqlError:
            kafka = False
        spark = self._ready and is_alive(self.session)
        details: dict[str, dict[str, Any]] = {
            "metastore": {"isHealthy": True},
            "kafka": {"isHealthy": kafka},
            "commandRunner": {"isHealthy": self._ready and lost is None, **({"reason": lost} if lost else {})},
            "spark": {"isHealthy": spark},
        }
        healthy = all(d["isHealthy"] for d in details.values())
        return {"isHealthy": healthy, "details": details, "serverState": "READY" if self._ready else "TERMINATING"}


# A developer's broker keeps what it is given, and takes records of any time: data of past years is usual there.
# With one member in a group there is nothing to wait for, and one partition is enough for its place.
_BROKER_SETTINGS = {
    "log.retention.ms": "-1",
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}


def _taken() -> EngineProblem:
    return EngineProblem(
        "service-taken",
        "another engine has taken this service: this one runs no queries any more",
        hint="stop one of them, or give one another ksql.service.id",
    )


@contextlib.contextmanager
def _named(statement: Parsed, entities: list[dict[str, Any]]) -> Any:
    """Puts the statement, its SQL and the answers so far on an error that comes out of it."""
    try:
        yield
    except KsqlError as e:
        if e.sql is None and isinstance(e, AnalysisProblem):
            e.sql = statement.sql
        e.statement_text = statement.text
        e.entities = list(entities)
        raise
