"""An engine without Spark and Kafka that answers by the first words of a statement; also runs a server: see main."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ksqlpy.access import Need
from ksqlpy.catalog import Catalog, Column
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, ConfigProblem, EngineProblem, KsqlError, ServiceLost, Span, StatementError
from ksqlpy.figures import EngineMetrics
from ksqlpy.reading.batch import Batch, Unshared
from ksqlpy.types import BIGINT, STRING
from tests.support.fake_inserts import FakeInserts

if TYPE_CHECKING:
    from ksqlpy.runtime.editing import Editing
    from ksqlpy.udfs.pool import Workers


class FakePush(Unshared):
    """Gives rows 0, 1, … as fast as they are taken, up to ``limit``; rows that tests put into ``source`` otherwise."""

    plain = False
    stream = True

    def __init__(self, engine: FakeEngine, id: str, limit: int | None = None, source: str = "rows") -> None:
        self.engine = engine
        self.id = id
        self.columns = (Column("ID", BIGINT, True), Column("name", STRING))
        self.limit_reached = False
        self.limit = limit
        self.fails = source == "fails"
        self.padding = "x" * 10_000 if source == "wide" else ""
        self.source: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self.closed = threading.Event()
        self.closed_at = 0.0
        self.taken = 0

    def rows(self) -> Iterator[list[Any] | None]:
        if self.limit is not None:
            for n in range(self.limit):
                if self.closed.is_set():
                    return
                self.taken += 1
                yield [n, f"row {n}{self.padding}"]
            if self.fails:
                raise EngineProblem("query-failed", "the query failed")
            self.limit_reached = True
            return
        while not self.closed.is_set():
            try:
                yield self.source.get(timeout=0.05)
            except queue.Empty:
                yield None

    def close(self) -> None:
        if not self.closed.is_set():
            self.closed_at = time.monotonic()
            self.closed.set()
            self.engine.pushes.pop(self.id, None)


class FakeLingering(FakePush):
    """The same rows, all of them at once, which may be sent together."""

    lingers = True

    def subscribe(
        self, take: Callable[[Batch], None], failed: Callable[[Exception], None], ended: Callable[[], None]
    ) -> bool:
        take(Batch(list(self.rows())))
        ended()
        return True


class FakePrint(FakePush):
    """The same rows as lines of text."""

    plain = True

    def rows(self) -> Iterator[Any]:
        yield "Key format: KAFKA_INT"
        for row in super().rows():
            yield None if row is None else f"rowtime: {row[0]}, value: {row[1]}"


class FakeCommands:
    """Those of a stream and of a query."""

    def all(self) -> dict[str, str]:
        return {"stream/`S`/create": "SUCCESS", "terminate/CSAS_S_1/execute": "SUCCESS"}

    def one(
        self, kind: str, entity: str, action: str, sees: Callable[[str], bool] = lambda name: True
    ) -> dict[str, Any] | None:
        if sees(entity) and (kind, entity, action) in (("stream", "`S`", "create"), ("stream", "a/b", "create")):
            return {"status": "SUCCESS", "message": "Stream created", "queryId": None}
        return None


class FakeEngine:
    """Statements: SHOW STREAMS, CREATE …, SLOW, WAIT, BAD, BROKEN, HOSTILE, ECHO; queries: FROM rows, wide, fails,
    live.

    ``SELECT * FROM known LIMIT 3;`` is a lookup with so many rows, answered at once.
    """

    def __init__(self, start_takes: float = 0) -> None:
        self.config = Config.of({})
        self.waiting = threading.Semaphore(0)  # counts what has begun to wait
        self.start_takes = start_takes
        self.calls: list[tuple[str, dict[str, object]]] = []
        self.variables: list[dict[str, str]] = []
        self.pushes: dict[str, FakePush] = {}
        self.commands = FakeCommands()
        self.terminated: list[str] | None = None
        self.letters: list[tuple[Any, ...]] = []
        self.inserts: list[FakeInserts] = []
        self.inserts_held, self.inserts_room = False, 100
        self.ids: dict[str, int] = {}  # of streams of rows, and how many rows are there
        self.acknowledged: list[tuple[str, int, str | None, list[bytes]]] = []
        self.healthy = True
        self.told = EngineMetrics("0", "default_")
        self.scrapes = 0
        self.behind: dict[str, int | None] = {}
        self.lost = False
        self.stopped = False
        self.count = 0

    def start(self) -> None:
        time.sleep(self.start_takes)

    def stop(self) -> None:
        self.stopped = True

    def execute(
        self, sql: str, properties: Mapping[str, object] = {}, variables: Mapping[str, str] = {}
    ) -> list[dict[str, Any]]:
        self.calls.append((sql, dict(properties)))
        self.variables.append(dict(variables))
        entities: list[dict[str, Any]] = []
        offset = 0
        for text in sql.splitlines(keepends=True):
            try:
                entities += self._one(text.strip(), sql, offset, properties)
            except StatementError as e:
                e.__dict__.update(statement_text=text.strip(), entities=entities)
                raise
            offset += len(text)
        return entities

    def _one(self, text: str, sql: str, offset: int, properties: Mapping[str, object]) -> list[dict[str, Any]]:
        base: dict[str, Any] = {"statementText": text, "warnings": []}
        match text.split(" ")[0].rstrip(";").upper():
            case "SHOW":
                stream = {"type": "STREAM", "name": "S", "topic": "t", "keyFormat": "KAFKA", "valueFormat": "JSON"}
                return [{"@type": "streams", **base, "streams": [{**stream, "isWindowed": False}]}]
            case "CREATE":
                status = {"status": "SUCCESS", "message": "Stream created", "queryId": None}
                return [{"@type": "currentStatus", **base, "commandId": "stream/`S`/create", "commandStatus": status}]
            case "SLOW":
                time.sleep(1)
                return []
            case "WAIT":
                # Here, since it brings Spark with it: many tests start this file as a program.
                from ksqlpy.runtime.patience import wait_until

                self.waiting.release()
                wait_until(lambda: "not there", 3_600_000, 60)
                return []
            case "BAD":
                place = Span(offset + 4, offset + 8)
                raise AnalysisProblem("bad-thing", "There is no thing", span=place, sql=sql, similar=["THINGS"])
            case "SELECT":
                raise StatementError("query-here", "send queries to /query-stream", sql=sql, error_code=40002)
            case "BROKEN":
                raise RuntimeError("nobody saw this coming")
            case "HOSTILE":
                novel = {"@type": "novel", **base, "text": "\x1b[31mred\u202e"}
                return [novel, {"@type": "warning_entity", "message": "bell \x07"}]
            case "ECHO":
                return [{"@type": "novel", "properties": dict(properties)}]
        return []

    def look_up(
        self, sql: str, properties: Mapping[str, object] = {}
    ) -> tuple[tuple[Column, ...], list[list[Any]], dict[str, int | None]] | None:
        words = sql.rstrip(";").split()
        if words[:4] != ["SELECT", "*", "FROM", "known"]:
            return None
        rows = [[n, f"row {n}"] for n in range(int(words[-1]))]
        return (Column("ID", BIGINT, True), Column("name", STRING)), rows, self.behind

    def query(
        self,
        sql: str,
        properties: Mapping[str, object] = {},
        variables: Mapping[str, str] = {},
        token: str | None = None,
    ) -> FakePush:
        self.calls.append((sql, dict(properties)))
        self.variables.append(dict(variables))
        words = sql.rstrip(";").lower().split()
        if len(words) < 2:
            raise StatementError("no-query", "there is no query", sql=sql)
        if words[0] == "print":
            self.count += 1
            push: FakePush = FakePrint(self, f"q{self.count}", int(words[-1]) if "limit" in words else None, words[1])
            self.pushes[push.id] = push
            return push
        if "emit" not in words:
            raise StatementError("no-pull", "pull queries are not there", sql=sql)
        source = words[words.index("from") + 1]
        limit = int(words[words.index("limit") + 1]) if "limit" in words else 3
        self.count += 1
        kind = FakeLingering if properties.get("ksqlpy.query.push.linger.ms") else FakePush
        push = kind(self, f"q{self.count}", None if source == "live" else limit, source)
        self.pushes[push.id] = push
        return push

    def close_query(self, query_id: str) -> bool:
        push = self.pushes.get(query_id)
        if push is not None:
            push.close()
        return push is not None

    def insert_rows(
        self, target: str, properties: Mapping[str, object] = {}, id: str | None = None, begin: int | None = None
    ) -> FakeInserts:
        self.config.for_statement(properties)
        standing = None if id is None else self.ids.get(id, 0)
        self.inserts.append(FakeInserts(target, self.inserts_held, self.inserts_room, standing, begin))
        return self.inserts[-1]

    def acknowledge(self, query_id: str, rows: int, target: str | None = None, lines: Sequence[bytes] = ()) -> None:
        if query_id not in self.pushes:
            raise ConfigProblem("unknown-query", f"no subscription is open as query {query_id}")
        if target == "taken":
            raise EngineProblem("subscription-taken", "another client has it", error_code=40900)
        if any(b'"bad"' in line for line in lines):
            raise AnalysisProblem("unknown-column", "there is no column bad", error_code=40000)
        self.acknowledged.append((query_id, rows, target, [*lines]))

    def host_status(self) -> dict[str, Any]:
        return {"hostAlive": True, "lastStatusUpdateMs": 1, "activeStandbyPerQuery": {}, "hostStoreLags": {}}

    def terminate(self, topics: Sequence[str] = ()) -> list[str]:
        if "(" in topics:
            raise ConfigProblem("bad-request", "'(' in deleteTopicList is no regular expression")
        if "broken" in topics:
            raise RuntimeError("nobody saw this coming")
        self.terminated = list(topics)
        return ["FOO"]

    def dead_letters(
        self, query: str | None = None, topic: str | None = None, letters: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        self.letters.append((query, topic, letters, limit))
        about = {"id": "0-7", "query": "CTAS_N_1", "topic": "rides", "reason": "no JSON", "replayed": False}
        return [{**about, "timestamp": 1000}]

    def count_letters(self, *which: str | None) -> dict[str, Any]:
        self.letters.append((*which, "count"))
        group = {"query": "CTAS_N_1", "topic": "rides", "reason": "no JSON", "count": 1, "replayed": 0}
        return {"total": 1, "groups": [{**group, "first": 1000, "last": 1000}]}

    def replay_letters(
        self,
        query: str | None = None,
        topic: str | None = None,
        letters: str | None = None,
        mended: Sequence[Mapping[str, Any]] | None = None,
        again: bool = False,
        dry: bool = False,
    ) -> dict[str, int]:
        self.letters.append((query, topic, letters, mended, again, dry))
        return {"records": 3, "before": 2, "returned": 1, "cut": 0}

    @cached_property
    def editing(self) -> Editing:
        """That of an engine with nothing in its catalog; it brings the language with it, as :meth:`_one` says."""
        from ksqlpy.project.offline import Offline
        from ksqlpy.runtime.editing import Editing

        nothing: Any = Offline(self.config)
        nothing.catalog, nothing.state = Catalog(), lambda query_id: "RUNNING"
        return Editing(nothing, lambda: {"rides": [1]}, lambda query_id: None)

    @cached_property
    def python(self) -> Workers:
        from ksqlpy.udfs.pool import Workers

        return Workers()

    def wait_for(self, sequence: int) -> None:
        self.waited = sequence

    def info(self) -> dict[str, Any]:
        names = {"version": "0.29.0", "kafkaClusterId": "k", "ksqlServiceId": "default_", "ksqlpyVersion": "0"}
        return {**names, "serverStatus": "RUNNING"}

    def fatal(self) -> KsqlError | None:
        return ServiceLost("service-taken", "another engine has it") if self.lost else None

    def cancel(self) -> None:
        """It does not wait for anybody."""

    def cut_short(self) -> bool:
        return True

    def require(self, need: Need) -> None:
        return None

    def metrics(self) -> EngineMetrics:
        self.scrapes += 1
        return self.told

    def health(self) -> dict[str, Any]:
        return {"isHealthy": self.healthy, "details": {}, "serverState": "READY"}


def main() -> int:
    """Arguments: port, and for how long the engine starts, or ``fails``, or ``lost``: it loses the service at once.

    Behind them properties, as ``name=value``.
    """
    from ksqlpy.server.run import serve

    engine = FakeEngine()
    given = dict(argument.split("=", 1) for argument in sys.argv[3:])
    engine.config = Config.of({"ksqlpy.port": sys.argv[1], **given})

    def fail() -> None:
        raise EngineProblem("no-start", "the engine does not start")

    if sys.argv[2] == "fails":
        vars(engine)["start"] = fail
    elif sys.argv[2] == "lost":
        engine.lost = True
    else:
        engine.start_takes = float(sys.argv[2])
    try:
        serve(engine.config, engine=engine)
    except KsqlError as e:
        print(e.render())
        return e.exit_code
    print("stopped" if engine.stopped else "not stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
