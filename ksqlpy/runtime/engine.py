"""The engine: what a server, a test or a program starts, and gives statements to.

It consists of the catalog service (decides what exists), the supervisor (runs queries) and the reads (gives results to
clients), over one connection to the brokers. A request's statements are checked one after the other against a copy of
the catalog; only when all are legal is the first one done. Requests that change the catalog come one after the other;
all others, INSERT VALUES among them, wait for nobody.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ksqlpy import tracing
from ksqlpy.access import ASKS, Need, require
from ksqlpy.analysis import Text
from ksqlpy.analysis.pull import WAIT, PullRead
from ksqlpy.audit import Touched
from ksqlpy.catalog import Catalog, Column, Owner
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.folders import folder_locked, scratch_folder
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError, StatementError
from ksqlpy.figures import EngineMetrics
from ksqlpy.plan import Plan, mode_of
from ksqlpy.reading.push import Plain, plain_of
from ksqlpy.runtime import statements
from ksqlpy.runtime.audited import Audited, note, noting_refusals
from ksqlpy.runtime.behind import Figures
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.clusterstatus import host_status
from ksqlpy.runtime.commandstatus import CommandStatuses
from ksqlpy.runtime.context import Context, OpenPush, Sandbox
from ksqlpy.runtime.editing import Editing
from ksqlpy.runtime.health import service_health
from ksqlpy.runtime.inserting import InsertStreams
from ksqlpy.runtime.insertrows import INSERTS_STREAM, InsertStream
from ksqlpy.runtime.internal import may_read
from ksqlpy.runtime.letterbox import LetterBox, Which
from ksqlpy.runtime.metrics import Metrics
from ksqlpy.runtime.naming import naming
from ksqlpy.runtime.plainpush import PlainPush
from ksqlpy.runtime.printing import Printing, check_print
from ksqlpy.runtime.processinglog import ProcessingLog
from ksqlpy.runtime.pull import Answering, PullQuery
from ksqlpy.runtime.push import Asked, PushQuery
from ksqlpy.runtime.pythonfunctions import settings_of
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.reads import Reads
from ksqlpy.runtime.sampling import Sampling
from ksqlpy.runtime.statements import Checked, Effect
from ksqlpy.runtime.statements.select import check_lookup, check_pull, check_push
from ksqlpy.runtime.subscriptions import Subscriptions
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.runtime.systemstreams import declare_own, log_topic
from ksqlpy.runtime.termination import patterns_of, terminate, terminated
from ksqlpy.runtime.textsize import check_size
from ksqlpy.runtime.topics import Topics
from ksqlpy.runtime.writing import Writing
from ksqlpy.spark.clients import tell_jvm
from ksqlpy.spark.kafka import Kafka
from ksqlpy.sql import Parsed, nodes, parse
from ksqlpy.udfs.pool import Workers
from ksqlpy.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COMPATIBLE_VERSION", "Engine"]

COMPATIBLE_VERSION = "0.29.0"
"""The ksqlDB version whose REST API is spoken; clients read it."""

T = TypeVar("T")

SHOWS, SHOWS_SECONDS = 4, 1.0
"""Requests that only tell what there is: so many at one time, and how long one waits for its turn at most."""


class Engine:
    """Runs statements. All methods may be called from any thread; changes happen one at a time."""

    def __init__(self, config: Config, progress: Callable[[str], None] | None = None) -> None:
        self._progress = progress or (lambda text: None)
        self.brokers = Brokers(config, self._progress)
        self.supervisor = Supervisor(self.brokers, self._progress)
        self.catalog_service = CatalogService(self.brokers, self.supervisor)
        self.python = Workers(settings_of(config))  # functions in Python, without Spark
        self._inserts = InsertStreams(self.brokers, self.catalog_service, lambda: self.session)
        self._subscriptions = Subscriptions(self._inserts)
        self.reads = Reads(self.brokers, self.supervisor, lambda: self.python, self._subscriptions)
        self._metrics = Metrics(self.brokers, self.supervisor)
        self._letters = LetterBox(self.brokers)
        parts = self.catalog_service, self.supervisor, self.reads, self.brokers
        self._context = partial(Context, *parts, int(time.time() * 1000))
        self._shows = threading.BoundedSemaphore(SHOWS)
        self._closing = contextlib.ExitStack()
        self._ready = False
        self._terminated: KsqlError | None = None
        self.commands = CommandStatuses()
        self.editing = Editing(self, lambda: self.kafka.topics(), lambda query_id: self.queries.get(query_id))

    # ------------------------------------------------------------ life

    def start(self) -> None:
        """Starts the broker if none is configured, then Spark; reads the command log and starts its queries.

        Raises EnvironmentProblem for what the machine lacks; nothing is left running then.
        """
        with contextlib.ExitStack() as stack:
            self.folder = folder = self._folder(stack)
            failure: list[Exception] = []
            self.supervisor.driver.check()
            self.brokers.prepare(folder, stack)
            # The broker and Spark's JVM start side by side.
            stack.callback(self.brokers.release)
            connecting = threading.Thread(target=self._connect, args=(folder, failure), name="connect")
            connecting.start()
            try:
                self.supervisor.start(folder, stack)
                self.supervisor.wait_for(connecting, self.catalog_service.foreseen, stack)
            finally:
                connecting.join()
            if failure:
                raise failure[0]
            self._open(stack)
            self._closing = stack.pop_all()
        self._ready = True
        self._progress("")

    def _connect(self, folder: Path, failure: list[Exception]) -> None:
        try:
            self.brokers.connect(folder)
        except Exception as e:  # carried to the thread that starts the engine
            failure.append(e)

    def _folder(self, stack: contextlib.ExitStack) -> Path:
        given = self.config.get("ksqlpy.data.dir")
        if given:
            folder = Path(given).expanduser().absolute()
            stack.enter_context(folder_locked(folder, "data folder"))
            return folder
        return stack.enter_context(scratch_folder("ksqlpy-"))

    def _open(self, stack: contextlib.ExitStack) -> None:
        tell_jvm(self.session, self.connection)
        self.brokers.open(stack)
        self.reads.start(self.folder)
        self._keep_log(stack)
        self.supervisor.admit(stack)
        self._progress("reading the command log")
        ended = self.catalog_service.replay(self.commands.of_log)
        self.queries.checkpoints.take_over(self.brokers.folder_owner, self.catalog.queries, ended)
        self.topics.remove_transients()
        self.catalog_service.run_all()
        declare_own(self.config, self.execute)
        service = self.catalog_service
        self.supervisor.watch(stack, service.lock, service.run_all, service.query_ids)

    def _keep_log(self, stack: contextlib.ExitStack) -> None:
        """Starts the processing log, if one is wanted."""
        topic = log_topic(self.config)
        if topic is None:
            return
        kept = ProcessingLog(
            self.kafka,
            self.topics.dead_letters,
            topic,
            rows=self.config.get("ksql.logging.processing.rows.include") == "true",
            check=self.brokers.check_owner,
            queries=self.queries.all,
            failed=lambda query_id: self.queries.counts(query_id).failed,
            functions=lambda: self.supervisor.function_failures(),
        )
        kept.start(make=self.config.get("ksql.logging.processing.topic.auto.create") == "true")
        stack.callback(kept.stop)

    def stop(self) -> None:
        """Stops push queries, persistent queries (they go on at the next start), Spark and the embedded broker.

        When brokers are away, or Spark's JVM answers nothing for 20 seconds, the JVM is killed: the next start goes on
        as after a kill.
        """
        self._ready = False
        over = threading.Event()
        self.supervisor.driver.stopping(over)
        try:
            self.reads.close_all()
            self._inserts.close()
            self._closing.close()
        finally:
            self.python.close()
            self.python = Workers(settings_of(self.config))
            over.set()

    def cancel(self) -> None:
        """To be called when a start is not wanted any more: a standby waits no longer."""
        self.brokers.cancel()

    def cut_short(self) -> bool:
        """To be called when start or stop take long: whether that is since brokers are away, and the process may end.

        Spark is ended then; the next start goes on as after a kill.
        """
        return self.supervisor.driver.cut_short()

    # ------------------------------------------------------------ statements

    def execute(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Runs all statements of a text; returns one entity for each that has an answer.

        ``properties``, ``variables``: of the session; SET and DEFINE in the text change them for what follows. It is
        done for the principal of :data:`ksqlpy.access.ASKS`. Raises KsqlError; on it ``statement_text`` names the
        statement and ``entities`` holds the answers of those done before.
        """
        with Audited(sql, lambda: self.catalog) as audited:
            return self._execute(audited, sql, properties, variables)

    def _execute(
        self,
        audited: Audited,
        sql: str,
        properties: Mapping[str, object] | None,
        variables: Mapping[str, str] | None,
    ) -> list[dict[str, Any]]:
        parsed = audited.read(self._parsed(sql, properties, variables))
        overrides, principal = dict(properties or {}), ASKS.get()
        entities: list[dict[str, Any]] = []
        kinds = [statements.statement_of(p.node) for p in parsed]
        effects = {kind.effect for kind in kinds}
        changes = Effect.CATALOG in effects
        samples = Sampling(self.kafka, partial(may_read, config=self.config))
        checked: list[Checked[Any]] = []
        if any(map(statements.may_sample, parsed)):  # before taking the lock: sampling waits for records
            with contextlib.suppress(KsqlError):  # the check under the lock raises the error
                checked = self._checked(parsed, overrides, samples, entities, audited)
        shows = effects <= {Effect.SHOWS}
        lock = self.catalog_service.lock
        lock_of_changes = self.supervisor.starting(lock) if any(kind.starts for kind in kinds) else lock
        with lock_of_changes if changes else self._few() if shows else contextlib.nullcontext():
            self.brokers.check_owner()
            catalog = self.catalog
            if not checked or checked[0].catalog is not catalog:
                checked = self._checked(parsed, overrides, samples, entities, audited)
            writing = Writing(self.brokers, lambda: self.session, partial(naming, entities=entities))
            context = self._context(writing, overrides, dict(variables or {}), None if changes else catalog, principal)
            try:
                for statement in checked:
                    if not isinstance(statement.parsed.node, nodes.InsertValues):
                        writing.settle()
                    with naming(statement.parsed, entities):
                        if not statement.holds_in(context.catalog):
                            own = dict(overrides)
                            sandbox = Sandbox(
                                self, context.catalog, own, samples=samples, principal=principal, asked=audited.needed
                            )
                            statement = statements.check(statement.parsed, sandbox)
                        with tracing.span("run", {"ksqlpy.statement": statement.statement.name}):
                            entity = statement.run(context)
                    audited.done(statement.parsed)
                    if entity is not None:
                        entities.append(entity)
                        if "commandId" in entity:
                            self.commands.note(entity["commandId"], entity["commandStatus"])
            finally:  # what was sent before a statement that is refused counts
                writing.settle()
        return entities

    def _checked(
        self,
        parsed: list[Parsed],
        overrides: Mapping[str, object],
        samples: Sampling,
        entities: list[dict[str, Any]],
        audited: Audited,
    ) -> list[Checked[Any]]:
        """The statements of a request, each checked behind those before it; raises KsqlError for the first bad one."""
        asked = audited.needed
        sandbox = Sandbox(self, self.catalog, dict(overrides), samples=samples, principal=ASKS.get(), asked=asked)
        checked = []
        for statement in parsed:
            with naming(statement, entities):
                if isinstance(statement.node, nodes.CreateSource | nodes.InsertSelect):
                    # The entry, made later, holds more.
                    self.brokers.log.check_size({"statement": statement.text})
                checked.append(statements.check(statement, sandbox))
        return checked

    @contextlib.contextmanager
    def _few(self) -> Iterator[None]:
        """Few requests at one time: many that ask Spark's JVM and brokers would keep the server's event loop waiting.

        None waits for long, as brokers may not answer.
        """
        taken = self._shows.acquire(timeout=SHOWS_SECONDS)
        try:
            yield
        finally:
            if taken:
                self._shows.release()

    def _parsed(
        self, sql: str, properties: Mapping[str, object] | None, variables: Mapping[str, str] | None
    ) -> list[Parsed]:
        config = self.config.for_statement(properties or {})
        check_size(sql, config)
        with tracing.span("parse", {"ksqlpy.characters": len(sql)}):
            return parse(sql, variables, substitution=config.get("ksql.variable.substitution.enable") == "true")

    def look_up(
        self, sql: str, properties: Mapping[str, object] | None = None
    ) -> tuple[tuple[Column, ...], list[list[Any]], Figures] | None:
        """Columns and rows of a pull query that asks a table for rows by their keys, at once; raises KsqlError.

        With them how far the queries are that make the table, see :class:`~ksqlpy.runtime.behind.Behind`.
        None for all that may take time, or is wrong: :meth:`query` answers it, and says what is wrong.
        """
        catalog, given = self.catalog, properties or {}
        if not self._ready:
            return None

        def analyze(text: str) -> tuple[PullRead, set[str]]:
            [parsed] = self._parsed(text, given, None)
            return check_lookup(parsed, catalog, self.config.for_statement(given))

        return self.reads.look_up(sql, catalog, given, analyze)

    def query(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> PullQuery | PushQuery | PlainPush | Printing:
        """Starts a SELECT, or PRINT; raises KsqlError. The caller reads its rows and closes it.

        With EMIT it is a push query, whose rows come as they happen, else a pull query, which ends by itself.
        ``token``: a continuation token that a push query gave, whose rows go on.
        """
        with Audited(sql, lambda: self.catalog) as audited:
            return self._query(audited, sql, properties, variables, token)

    def _query(
        self,
        audited: Audited,
        sql: str,
        properties: Mapping[str, object] | None,
        variables: Mapping[str, str] | None,
        token: str | None,
    ) -> PullQuery | PushQuery | PlainPush | Printing:
        parsed = audited.read(self._parsed(sql, properties, variables))
        first = parsed[0] if parsed else None
        if first is None or len(parsed) > 1 or not isinstance(first.node, nodes.Query | nodes.UnionAll | nodes.Print):
            span = Text(sql).span(first.node if first is not None else None)
            raise StatementError("not-a-query", "one SELECT, or one PRINT, is wanted here", span=span, sql=sql)
        with naming(first, []):
            opened = self._opened(first, properties, token, audited)
        audited.done(first)
        return opened

    def _opened(
        self, first: Parsed, properties: Mapping[str, object] | None, token: str | None, audited: Audited
    ) -> PullQuery | PushQuery | PlainPush | Printing:
        config, catalog = self.config.for_statement(properties or {}), self.catalog
        sandbox = Sandbox(self, catalog, dict(properties or {}), principal=ASKS.get(), asked=audited.needed)
        if isinstance(first.node, nodes.Print):
            topics = self.kafka.topics()
            readable = partial(may_read, config=self.config)
            asked = check_print(first, topics, sandbox.principal, catalog.grants, readable=readable)
            audited.needed(first, asked.needs)
            opened = self.reads.print(asked, len(topics[asked.topic]), config)
            return self._still_allowed(opened)
        if first.node.args.get("emit") is None:
            with tracing.span("analyse", {"ksqlpy.statement": "SELECT"}):
                read, plan = check_pull(first, sandbox)
            wait = config.number(WAIT) / 1000
            largest = config.number("ksqlpy.record.max.bytes")
            asking = Answering(first.text, read, plan, wait, config.committed, largest, sandbox.principal)
            return self._still_allowed(self.reads.pull(asking, catalog))
        self.brokers.check_owner()
        query, how = self._asked(first, properties, audited)
        if how is not None:
            return self._still_allowed(self.reads.push_plain(query, how, token))
        if token is not None:
            hint = "only push queries of columns of one source give tokens"
            raise ConfigProblem("bad-token", "this query gives no continuation tokens", hint=hint)
        with self.supervisor.starting(self.catalog_service.lock):  # since it takes slots
            if self.catalog is not catalog:
                query, _ = self._asked(first, properties, audited)
            return self._still_allowed(self.reads.push(query))

    def _still_allowed(self, opened: T) -> T:
        """What has been opened; its right may have gone since it was asked for, before a REVOKE could end it."""
        self.reads.end_forbidden(self.catalog.grants)
        return opened

    def _asked(
        self, parsed: Parsed, properties: Mapping[str, object] | None, audited: Audited
    ) -> tuple[Asked, Plain | None]:
        """A push query that is checked, and how it is answered without Spark, if it can be."""
        asked_for = audited.needed
        sandbox = Sandbox(self, self.catalog, dict(properties or {}), principal=ASKS.get(), asked=asked_for)
        with tracing.span("analyse", {"ksqlpy.statement": "SELECT"}):
            typed, plan = check_push(parsed, sandbox)
        mode = mode_of(plan, sandbox.config)
        asked = Asked(parsed.text, plan, mode, typed.columns, typed.limit, dict(properties or {}), sandbox.principal)
        return asked, plain_of(typed, self.brokers.registry, calls=self.reads.call_python)

    def close_query(self, query_id: str) -> bool:
        """Ends a push query or a PRINT; False if there is none of that id that the principal may end."""
        may = self.reads.may_close(query_id, ASKS.get(), self.catalog.grants)
        closed = may and self.reads.close(query_id)
        note("CLOSE QUERY", *([Touched("query", query_id)] if closed else []), closed=closed)
        return closed

    def insert_rows(
        self,
        target: str,
        properties: Mapping[str, object] | None = None,
        id: str | None = None,
        begin: int | None = None,
    ) -> InsertStream:
        """A stream of rows that a client sends into the stream or table that ``target`` names; raises KsqlError.

        ``id``: under which it goes on after its connection has ended; ``begin``: the number of the first row.
        """
        with noting_refusals(INSERTS_STREAM):
            self.config.for_statement(properties or {})
            return self._inserts.open(target, id, begin)

    def acknowledge(self, query_id: str, rows: int, target: str | None = None, lines: Sequence[bytes] = ()) -> None:
        """The client of a subscription has done with so many rows: see :meth:`SubscribedPush.acknowledge`."""
        with noting_refusals(INSERTS_STREAM):
            self.brokers.check_owner()
            self._subscriptions.acknowledge(query_id, rows, target, lines)

    def dead_letters(
        self, query: str | None = None, topic: str | None = None, letters: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The dead letters that the principal may see, the last of them; see :class:`Which`. Raises KsqlError."""
        return self._letters.show(Which(query, topic, letters), limit, self.catalog.grants)

    def count_letters(self, *which: str | None) -> dict[str, Any]:
        """How many there are, by query, topic and reason; ``which``: as of :class:`Which`. Raises KsqlError."""
        return self._letters.count(Which(*which), self.catalog.grants)

    def replay_letters(
        self,
        query: str | None = None,
        topic: str | None = None,
        letters: str | None = None,
        mended: Sequence[Mapping[str, Any]] | None = None,
        again: bool = False,
        dry: bool = False,
    ) -> dict[str, int]:
        """Replays dead letters, see :meth:`LetterBox.replay`; raises KsqlError."""
        self.brokers.check_owner()
        return self._letters.replay(Which(query, topic, letters), mended, self.catalog.grants, again=again, dry=dry)

    # ------------------------------------------------------------ what it has

    @property
    def config(self) -> Config:
        """The properties of the server."""
        return self.brokers.config

    @property
    def catalog(self) -> Catalog:
        """What exists."""
        return self.catalog_service.catalog

    @property
    def bootstrap(self) -> str:
        """Addresses of the brokers."""
        return self.brokers.bootstrap

    @property
    def connection(self) -> KafkaConnection:
        """How the brokers are reached."""
        return self.brokers.connection

    @property
    def kafka(self) -> Kafka:
        """The brokers."""
        return self.brokers.kafka

    @property
    def topics(self) -> Topics:
        """The topics of the service."""
        return self.brokers.topics

    @property
    def session(self) -> SparkSession:
        """Spark."""
        return self.supervisor.session

    @property
    def queries(self) -> Queries:
        """The queries that run."""
        return self.supervisor.queries

    @property
    def open_push_queries(self) -> list[OpenPush]:
        """The push queries that are open."""
        return [OpenPush(p.id, Owner.of(p.asked.principal), tuple(p.asked.sources)) for p in self.reads.open]

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a persistent query; raises EngineProblem ``command-log`` for one whose entry is odd."""
        return self.catalog_service.plan_of(query_id)

    def state(self, query_id: str) -> str:
        """The state of a query, as SHOW QUERIES has it."""
        return self.supervisor.status(query_id, self.catalog).state

    # ------------------------------------------------------------ about

    def wait_for(self, sequence: int) -> None:
        """Waits until the command with this number has been carried out.

        Raises EngineProblem ``command-not-reached`` (50301) after ``ksql.server.command.response.timeout.ms``.
        """
        patience = self.config.number("ksql.server.command.response.timeout.ms") / 1000
        end = time.monotonic() + patience
        while self.catalog_service.next_command <= sequence:
            if time.monotonic() >= end:
                raise EngineProblem(
                    "command-not-reached",
                    f"command {sequence} was not carried out in {patience:g} s; the last one is"
                    f" {self.catalog_service.next_command - 1}",
                    hint="use a commandSequenceNumber that this server returned",
                    error_code=50301,
                )
            time.sleep(0.02)

    def info(self) -> dict[str, Any]:
        """What GET /info tells."""
        return {
            "version": COMPATIBLE_VERSION,
            "kafkaClusterId": self.brokers.cluster_id,
            "ksqlServiceId": self.config.get("ksql.service.id"),
            "serverStatus": "RUNNING",
            "ksqlpyVersion": __version__,
        }

    def require(self, need: Need) -> None:
        """Refuses what the principal has no right to; raises StatementError ``missing-right``."""
        with noting_refusals("REQUEST"):
            require(ASKS.get(), need, self.catalog.grants)

    def metrics(self) -> EngineMetrics:
        """What GET /metrics tells; of figures of Spark's JVM, if it does not answer, those of before."""
        reads = self.reads
        copies = reads.copies.known(self.catalog.sources)
        return self._metrics.now(self.catalog, len(reads.open), self.folder, reads.pulling, copies)

    def host_status(self) -> dict[str, Any]:
        """What GET /clusterStatus tells of this server; raises KsqlError."""
        with self._few():
            return host_status(self.catalog, self.catalog_service, self.supervisor, self.kafka)

    def terminate(self, topics: Sequence[str] = ()) -> list[str]:
        """Ends the service for good, and this engine with it; gives the topics of its queries that were deleted.

        ``topics``: names of these, or regular expressions. Raises KsqlError; then it may be tried again.
        """
        parts = self.brokers, self.catalog_service, self.supervisor, self.reads
        with noting_refusals("TERMINATE CLUSTER"):
            deleted = terminate(patterns_of(topics), *parts, self.folder)
        note("TERMINATE CLUSTER", *(Touched("topic", t) for t in deleted))
        self._terminated, self._ready = terminated(), False
        return deleted

    def fatal(self) -> KsqlError | None:
        """Why this engine can do nothing any more and its server must end, None as long as it can."""
        return self._terminated or (self.brokers.loss() if self.brokers.lost else None)

    def health(self) -> dict[str, Any]:
        """What GET /healthcheck tells.

        ``isHealthy`` is the server's: to start a server again does not help a query that fails, so such queries do
        not make it false. They stand in ``queries``, as far as the principal may see them.
        """
        visible = self.catalog.seen_by(ASKS.get())
        left_out = self.catalog_service.left_out if visible.viewer is None else ()
        return service_health(visible, self.brokers, self.supervisor, left_out, ready=self._ready)
