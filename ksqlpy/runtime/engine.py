"""The engine: the one place where the catalog changes and queries start and end.

A request's statements are checked one after the other against a copy of the catalog; only when all are legal is the
first one done. A change is done in the order topic, command log, catalog, query, so that what is logged can run.
More than 600 lines, since all of it stands behind one lock: what may change together must be seen together.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
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
    check_clauses,
)
from ksqlpy.analysis.windows import LATE_TOPIC
from ksqlpy.catalog import Catalog, PersistentQuery, Source, type_to_json
from ksqlpy.config import Config
from ksqlpy.embedded.folders import folder_locked, scratch_folder
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem, EngineProblem, KsqlError, StatementError
from ksqlpy.plan import Plan, build_plan, mode_of
from ksqlpy.runtime import statements
from ksqlpy.runtime.commandlog import CommandLog, query_to_json, source_to_json
from ksqlpy.runtime.deadletters import DeadLetters
from ksqlpy.runtime.ownership import Ownership, identity, place_of
from ksqlpy.runtime.push import Asked, PushQuery
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.replay import replayed
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.belonging import Belonging, check_folder, sign_folder
from ksqlpy.spark.fencing import ProducerRegister, service_taken
from ksqlpy.spark.kafka import TIMEOUT, Kafka
from ksqlpy.spark.session import end_session, has_session, is_alive, jvm_alive, kill_jvm, start_session
from ksqlpy.spark.spec import QuerySpec, Retry, fingerprint_of
from ksqlpy.spark.standing import Standing, State
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

AWAY_SECONDS = 2.0
"""Brokers that do not answer for so long, twice, are away when the engine stops."""

NOTE_EVERY = 5
"""So many looks between looks at the partitions of topics and the checkpoints of queries."""


class Engine:
    """Runs statements. All methods may be called from any thread; changes happen one at a time.

    ``left_out``: what is wrong with entries of the command log; ``began_ms``: when it was made, in ms since 1970.
    """

    def __init__(self, config: Config, progress: Callable[[str], None] | None = None) -> None:
        self.config = config
        self.catalog = Catalog()
        self.bootstrap = config.get("bootstrap.servers")
        self._progress = progress or (lambda text: None)
        self._lock = threading.RLock()
        self._closing = contextlib.ExitStack()
        self._push: dict[str, PushQuery] = {}
        self._plans: dict[str, Plan] = {}
        self._paused_at: dict[str, float] = {}
        self._own_jvm: Path | None = None
        self._ownership: Ownership | None = None
        self._register: ProducerRegister | None = None
        self._stopping = threading.Event()
        self.left_out: tuple[str, ...] = ()
        self.began_ms = int(time.time() * 1000)
        self._ready = False

    # ------------------------------------------------------------ life

    def start(self) -> None:
        """Starts the broker if none is configured, then Spark; reads the command log and starts its queries.

        Raises EnvironmentProblem for what the machine lacks; nothing is left running then.
        """
        with contextlib.ExitStack() as stack:
            self.folder = folder = self._folder(stack)
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
            self._belong(folder)
            self._ownership = Ownership(
                self.kafka, self.topics.engine_group, self.topics.command_log, identity(folder), place_of(folder)
            )
            self._ownership.take()
            self._register = ProducerRegister(self.kafka, self.topics.producers, uuid.uuid4().hex)
            self._register.take()
            self.log.guard = self._register.check
        except Exception as e:  # carried to the thread that starts the engine
            failure.append(e)

    def _belong(self, folder: Path) -> None:
        """Makes the command log if there is none yet; before that, sees to it that the folder is of this service."""
        service = self.config.get("ksql.service.id")
        check_folder(folder, Belonging(self.cluster_id, service, self.kafka.topic_id(self.log.topic) or ""))
        self.log.make()
        self._belonging = Belonging(self.cluster_id, service, self.log.topic_id)
        sign_folder(folder, self._belonging)

    def _release(self) -> None:
        if self._register is not None:
            self._register.close()
        if self._ownership is not None:
            self._ownership.release()

    def _folder(self, stack: contextlib.ExitStack) -> Path:
        given = self.config.get("ksqlpy.data.dir")
        if given:
            folder = Path(given).expanduser().absolute()
            stack.enter_context(folder_locked(folder, "data folder"))
            return folder
        return stack.enter_context(scratch_folder("ksqlpy-"))

    def _start_spark(self, folder: Path, stack: contextlib.ExitStack) -> None:
        master = self.config.get("ksqlpy.spark.master")
        shared = has_session()
        self.session: SparkSession = self._new_session(folder / "spark", self._progress)
        if not shared:  # a process has one session; who made it ends it
            self._own_jvm = folder / "spark"
            stack.callback(lambda: end_session(self.session))
        given = self.config.get("ksqlpy.checkpoint.dir")
        # Services may share the folder, and number their queries alike.
        checkpoints = f"{given or folder / 'checkpoints'}/{self.config.get('ksql.service.id')}"
        self.queries = Queries(
            self.session,
            master,
            checkpoints,
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
                "message.max.bytes": 1_000_000_000,  # the topic's own limit counts
                "message.timeout.ms": int(
                    TIMEOUT * 1000
                ),  # so that what is reported as not written is not written later
                "partitioner": "murmur2_random",  # as Kafka's Java clients do, Spark's among them
            }
        )
        self.queries.register = self._register
        self._progress("reading the command log")
        ended = self._replay()
        self.queries.take_over(self._belonging, self.catalog.queries, ended)
        self.topics.remove_transients()
        self._run_all()
        watching = threading.Event()
        watch = threading.Thread(target=self._watch, args=(watching,), name="watch", daemon=True)
        watch.start()
        stack.callback(self._join_watch, watch)
        stack.callback(watching.set)
        if self.config.get("ksqlpy.warm.up") == "true":
            warm_up = WarmUp(self.session, self.bootstrap, self.topics.command_log, self.queries.any)
            warm_up.start()
            stack.callback(warm_up.stop)

    def _join_watch(self, watch: threading.Thread) -> None:
        """Waits for the watch; not when Spark is ended, as then only brokers that are away can hold it."""
        end = time.monotonic() + 60
        while watch.is_alive() and time.monotonic() < end and (self._own_jvm is None or jvm_alive()):
            watch.join(0.2)

    def _run_all(self) -> None:
        for query in self.catalog.queries.values():
            if not query.paused and self._problem(query.id) is None:
                self._run(query, self._plans[query.id])

    def _watch(self, ended: threading.Event) -> None:
        """Sees to it, until the engine stops, that the JVM is there, and notes what Spark does not."""
        looked = deaths = 0
        while not ended.wait(WATCH_SECONDS):
            looked += 1
            try:
                if self._ownership is not None and self._ownership.lost.is_set():
                    log.error("%s", service_taken())
                    self.queries.stop_all()
                    return
                if self._own_jvm is not None and not is_alive(self.session) and not self._stopping.is_set():
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
        """Stops push queries, persistent queries (they go on at the next start), Spark and the embedded broker.

        When brokers are away Spark is ended by force: the next start goes on as after a kill.
        """
        self._ready = False
        self._stopping.set()
        over = threading.Event()
        threading.Thread(target=self._hurry, args=(over,), name="hurry", daemon=True).start()
        try:
            for push in list(self._push.values()):
                push.close()
            self._closing.close()
        finally:
            over.set()

    def _hurry(self, over: threading.Event) -> None:
        """Ends the JVM when brokers are away, since what is in it would wait for them."""
        missed = 0
        while not over.wait(WATCH_SECONDS):
            missed = 0 if self.kafka.answers(AWAY_SECONDS) else missed + 1
            if missed == 2 and not over.is_set() and self._own_jvm is not None:
                log.warning("Kafka at %s does not answer: Spark is ended without it", self.bootstrap)
                kill_jvm()
                return

    def cut_short(self) -> bool:
        """To be called when start or stop take long: whether that is since brokers are away, and the process may end.

        Spark is ended then; the next start goes on as after a kill.
        """
        if self.bootstrap and Kafka(self.bootstrap).answers(AWAY_SECONDS):
            return False
        if self._own_jvm is not None:
            kill_jvm()
        return True

    # ------------------------------------------------------------ command log

    def _replay(self) -> set[str]:
        """Takes the catalog and the plans from the command log; gives the ids of the queries that have ended."""
        found = replayed(self.log.read(), self.config)
        self.catalog, self._plans, self.left_out = found.catalog, found.plans, tuple(found.left_out)
        return found.ended

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
                    if isinstance(statement.node, nodes.CreateSource | nodes.InsertSelect):
                        self.log.check_size({"statement": statement.text})  # the entry, made later, holds more
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
        if self._ownership is not None and self._ownership.doubtful.is_set():
            raise service_taken()

    def create(self, made: Declare | CreateAs, properties: Mapping[str, object]) -> tuple[int, str | None]:
        """Makes a checked source and its query; returns the command's number and the id of the query."""
        with self._lock:
            if isinstance(made, Declare):
                entry = {"op": "create", "source": source_to_json(made.source), "query": None}
                self.log.check_size(entry)
                self.topics.ensure_declared(made)
                sequence = self.log.append(entry)
                self.catalog = self.catalog.with_source(made.source)
                return sequence, None
            config = self.config.for_statement(properties)
            plan = build_plan(made.query)
            prefix = "CTAS" if made.source.kind == "TABLE" else "CSAS"
            query_id = made.query_id or f"{prefix}_{made.source.name.upper()}_{self.log.next_offset}"
            query, partitions = self._persistent(query_id, made.source, made.source.statement, plan, config, properties)
            self.queries.check_room(plan, partitions, query.shuffle_partitions)
            source = replace(made.source, query=query.id)
            entry = {"op": "create", "source": source_to_json(source), "query": query_to_json(query)}
            self.log.check_size(entry)
            self.topics.ensure_sink(made, partitions)
            self.topics.ensure_late(plan.late_topic)
            self.queries.reserve(query.id, query.checkpoint_mark)
            sequence = self.log.append(entry)
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
            entry = {"op": "insert", "query": query_to_json(query)}
            self.log.check_size(entry)
            self.queries.reserve(query.id, query.checkpoint_mark)
            sequence = self.log.append(entry)
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
        sources = {r.source.name: r.source for r in plan.relations}
        partitions = self.topics.partitions([s.topic for s in sources.values()])
        if (
            plan.window is not None
        ):  # part of the state, so that a server that is started with another value changes nothing
            properties = {**properties, LATE_TOPIC: config.get(LATE_TOPIC)}
        query = PersistentQuery(
            query_id,
            statement,
            sink.name,
            tuple(sources),
            {k: str(v) for k, v in properties.items()},
            self._first_offsets(tuple(sources.values()), partitions, config),
            config.number("ksql.query.parallelism") or max(partitions.values()),
            checkpoint_mark=uuid.uuid4().hex,
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
                mark=query.checkpoint_mark,
            )
        )

    def pause(self, query_id: str, *, paused: bool) -> int:
        """Pauses or resumes a persistent query; its state stays. Returns the command's number."""
        with self._lock:
            query = self.catalog.queries[query_id]
            if query.paused == paused:
                return self.log.next_offset - 1
            runs = self._problem(query_id) is None
            if not paused and runs:
                plan = self._plans[query_id]
                self.queries.check_room(plan, self.topics.partitions(query.offsets), query.shuffle_partitions)
            sequence = self.log.append({"op": "pause" if paused else "resume", "query": query_id})
            self.catalog = self.catalog.with_query(replace(query, paused=paused))
            if paused:
                self._paused_at[query_id] = time.time()
                self.queries.stop(query_id, forget=False)
            elif runs:
                self._run(self.catalog.queries[query_id], self._plans[query_id])
            return sequence

    def _problem(self, query_id: str) -> str | None:
        """What is wrong with the entry of the command log that made the query."""
        return self.catalog.blocked.get(("query", query_id))

    def standing(self, query_id: str) -> Standing:
        """How a persistent query stands; since when it is paused is known of this engine's life only."""
        if self._problem(query_id) is not None:
            return Standing(State.ERROR, None)
        query = self.catalog.queries.get(query_id)
        if query is not None and query.paused:
            return Standing(State.PAUSED, self._paused_at.get(query_id))
        return self.queries.standing(query_id)

    def state(self, query_id: str) -> str:
        """Its state alone."""
        return self.standing(query_id).state

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

    def drop_blocked(self, name: str) -> int:
        """Gives a name free whose entry of the command log is odd; returns the command's number."""
        with self._lock:
            sequence = self.log.append({"op": "drop", "source": name, "query": None})
            self.catalog = self.catalog.without_source(name)
            return sequence

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a persistent query; raises EngineProblem ``command-log`` for one whose entry is odd."""
        problem = self._problem(query_id)
        if problem is not None:
            raise EngineProblem("command-log", problem, hint=f"TERMINATE {query_id} ends it", error_code=40001)
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
            sources = tuple({r.source.name: r.source for r in plan.relations}.values())
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
            asked = Asked(
                parsed[0].text, plan, mode_of(plan, config), typed.columns, typed.limit, dict(properties or {})
            )
            self.queries.start(spec)
            current = partial(self.queries.get, query_id)
            push = PushQuery(query_id, asked, current, topic, self.kafka.reader(), self._closed)
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

    @property
    def push_queries(self) -> tuple[PushQuery, ...]:
        """The push queries that are open."""
        return tuple(self._push.values())

    def close_query(self, query_id: str) -> bool:
        """Ends a push query; False if there is none of that id."""
        push = self._push.get(query_id)
        if push is None:
            return False
        push.close()
        return True

    # ------------------------------------------------------------ about

    def wait_for(self, sequence: int) -> None:
        """Waits until the command with this number has been carried out.

        Raises EngineProblem ``command-not-reached`` (50301) after ``ksql.server.command.response.timeout.ms``.
        """
        patience = self.config.number("ksql.server.command.response.timeout.ms") / 1000
        end = time.monotonic() + patience
        while self.log.next_offset <= sequence:
            if time.monotonic() >= end:
                raise EngineProblem(
                    "command-not-reached",
                    f"command {sequence} was not carried out in {patience:g} s; the last one is"
                    f" {self.log.next_offset - 1}",
                    hint="is it a number that this server gave?",
                    error_code=50301,
                )
            time.sleep(0.02)

    def info(self) -> dict[str, Any]:
        """What GET /info tells."""
        return {
            "version": COMPATIBLE_VERSION,
            "kafkaClusterId": self.cluster_id,
            "ksqlServiceId": self.config.get("ksql.service.id"),
            "serverStatus": "RUNNING",
            "ksqlpyVersion": __version__,
        }

    def fatal(self) -> KsqlError | None:
        """Why this engine can do nothing any more and its server must end, None as long as it can."""
        return service_taken() if self._ownership is not None and self._ownership.lost.is_set() else None

    def health(self) -> dict[str, Any]:
        """What GET /healthcheck tells."""
        lost = None
        try:
            doubtful = self._ownership is not None and self._ownership.doubtful.is_set()
            lost = service_taken().message if doubtful else self.log.problem()
            kafka = True
        except KsqlError:
            kafka = False
        spark = self._ready and is_alive(self.session)
        details: dict[str, dict[str, Any]] = {
            "metastore": {"isHealthy": True},
            "kafka": {"isHealthy": kafka},
            "commandRunner": {
                "isHealthy": self._ready and lost is None,
                **({"reason": lost} if lost else {}),
                **({"leftOut": list(self.left_out)} if self.left_out else {}),
            },
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
