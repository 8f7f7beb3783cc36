"""Cases that go through the REST API of a server on a real broker: statements, records, queries, answers.

The form of the files is ksqlDB's (REST query validation tests): as those of :mod:`.cases`, with the answers that are
expected. Statements that begin with ``SELECT`` are queries, and come last; all others go in one POST /ksql.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from google.protobuf import message_factory, text_format

from ksqlpy.errors import KsqlError, SyntaxProblem
from ksqlpy.formats.protofile import proto_file
from ksqlpy.runtime import Engine
from ksqlpy.server.run import ServerThread
from ksqlpy.testing.check import CaseFailed
from ksqlpy.testing.live import with_suffix
from ksqlpy.testing.served import Pace, Served
from tests.harness.restore import PACE, engine_of_its_own

from .cases import Case, expanded, json_text, read_json
from .compare import Difference, compare, same
from .encoding import Seen
from .judge import Verdict, skipped
from .live import LiveCase
from .producing import JavaProducer
from .report import Result
from .run import IGNORED, PARTITIONS, by_topic_noted, declared_topics, first_line

__all__ = ["RestCase", "find_rest_cases", "run_rest"]

ANSWER_SECONDS = 60.0
"""How long a query may take to answer."""


@dataclass(frozen=True)
class RestCase:
    """One case; ``responses``: in the file's form; ``waits``: records go in when its push query reads.

    ``ordered``: rows must come in the order of the file; ``proto``: queries are asked once more for Protobuf.
    """

    case: Case
    responses: tuple[Mapping[str, Any], ...]
    expected: Mapping[str, Any] | None
    waits: bool
    ordered: bool
    proto: bool

    @property
    def full_name(self) -> str:
        """What the report and ``--filter`` call the case."""
        return self.case.full_name

    @property
    def admin(self) -> tuple[str, ...]:
        """The statements ahead of the queries."""
        return tuple(s for s in self.case.statements if not s.startswith("SELECT "))

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries."""
        return tuple(s for s in self.case.statements if s.startswith("SELECT "))


def find_rest_cases(folder: Path) -> list[RestCase]:
    """The cases of all files of a folder that say what a server answers; raises ValueError, which names the file."""
    found = []
    for file in sorted(folder.glob("*.json")):
        try:
            for entry in read_json(file.read_text(encoding="utf-8"))["tests"]:
                if {"responses", "expectedError", "inputConditions"} & entry.keys() or _rest_only(file):
                    found += [_rest(case, whole) for case, whole in expanded(file.stem, entry)]
        except (ValueError, KeyError, TypeError) as e:
            raise ValueError(f"{file}: {e!r}") from e
    return found


def _rest_only(file: Path) -> bool:
    return file.parent.name.startswith("rqtt")


def _rest(case: Case, entry: Mapping[str, Any]) -> RestCase:
    return RestCase(
        case,
        tuple(entry.get("responses") or ()),
        entry.get("expectedError"),
        bool((entry.get("inputConditions") or {}).get("waitForActivePushQuery")),
        bool((entry.get("outputConditions") or {}).get("verifyOrder")),
        bool(entry.get("testPullWithProtoFormat")),
    )


# ---------------------------------------------------------------- running


class Refused(Exception):
    """The server refused a request, with a status and a body."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {body.get('message')}")
        self.status, self.body = status, body


@dataclass
class _Answers:
    """What the server has answered so far, in the form of the files."""

    found: list[dict[str, Any]] = field(default_factory=list)


class RestRun(LiveCase):
    """A case on a server for the engine; see :class:`.live.LiveCase`."""

    def __init__(self, engine: Engine, http: httpx.Client, rest: RestCase, pace: Pace) -> None:
        super().__init__(engine, rest.case, pace, lax=True)
        self._http, self._rest = http, rest
        self.answers: list[dict[str, Any]] = []
        self._message: Any = None
        """The class of the messages of the last Protobuf answer."""

    def run(self) -> Verdict:
        """The verdict; raises what is not the case's."""
        rest = self._rest
        try:
            self._admin()
            if not rest.waits:
                self.served.wait_until_live()
                self.served.send(self.records())
                self.served.settle()
            for query in rest.queries:
                self.answers.append({"query": self._query(query)})
            for query in rest.queries if rest.proto else ():
                self.answers.append({"queryProto": self._messages(query)})
        except Refused as e:
            return self._judge_refusal(e)
        if rest.expected is not None:
            return Verdict("failed", f"not refused; wanted: {rest.expected.get('message')}", "negative: not refused")
        try:
            self._check_answers()
            if rest.case.outputs:
                compare(rest.case, self._written(), lax=False)
        except Difference as e:
            return Verdict("failed", str(e), f"{e.what} differs")
        return Verdict("passed")

    def _session(self) -> dict[str, Any]:
        own = {k: v for k, v in self._rest.case.properties.items() if k not in IGNORED}
        return {"auto.offset.reset": "earliest", **own}

    def _sql(self, statement: str) -> str:
        renumbered = self._schemas.renumbered(statement)
        try:
            return with_suffix(renumbered, self._suffix)
        except SyntaxProblem:
            return renumbered  # which the server refuses, too

    def _admin(self) -> None:
        case = self._rest.case
        self._schemas.offer(case.topics)
        for topic in case.topics:
            self._make(topic["name"], topic.get("partitions") or PARTITIONS)
        for statement in self._rest.admin:
            for name, partitions in declared_topics(statement, PARTITIONS):
                self._make(name, partitions)
        sql = "\n".join(map(self._sql, self._rest.admin))
        answer = self._http.post("/ksql", json={"ksql": sql, "streamsProperties": self._session()})
        if answer.status_code != 200:
            raise Refused(answer.status_code, answer.json())
        self.answers += [{"admin": entity} for entity in answer.json()]
        by_topic_noted(self._plain_sources(), self._by_topic)
        for source in self._by_topic.values():
            if source.read_only:  # nothing registers what it reads
                self._schemas.declare(source.topic, "value", source.value)
        for written in case.inputs:
            self._make(written.topic, PARTITIONS)
        write = JavaProducer(self._engine).write
        self.served = Served(self._engine, self._suffix, self.name, self._pace, frozenset(self._made), write)

    def _query(self, sql: str) -> list[Any]:
        body = {"ksql": self._sql(sql), "streamsProperties": self._session()}
        begun = threading.Event()
        sender = threading.Thread(target=self._feed, args=(begun,), daemon=True)
        text = ""
        end = time.monotonic() + ANSWER_SECONDS
        if self._rest.waits:
            sender.start()
        with self._http.stream("POST", "/query", json=body, timeout=ANSWER_SECONDS) as answer:
            if answer.status_code != 200:
                answer.read()
                begun.set()
                raise Refused(answer.status_code, answer.json())
            for piece in answer.iter_text():
                text += piece
                begun.set()
                if time.monotonic() > end:
                    raise CaseFailed(f"the query did not end within {ANSWER_SECONDS:.0f} s: {text[-200:]}")
        rows: list[Any] = json.loads(text)
        return rows

    def _messages(self, sql: str) -> list[Any]:
        """The rows as texts of the messages that a Protobuf answer has."""
        body = {"sql": self._sql(sql), "properties": self._session()}
        accept = {"Accept": "application/vnd.ksql.v1+protobuf"}
        answer = self._http.post("/query-stream", json=body, headers=accept, timeout=ANSWER_SECONDS)
        if answer.status_code != 200:
            raise Refused(answer.status_code, answer.json())
        found: list[Any] = []
        file = None
        for item in answer.json():
            if "header" in item:
                file = proto_file(item["header"]["protoSchema"])
            if "row" in item and file is not None:
                self._message = message_factory.GetMessageClass(file.first())
                message = message_factory.GetMessageClass(file.first())()
                message.ParseFromString(base64.b64decode(item["row"]["protobufBytes"]))
                item = {"row": _told(message)}
            found.append(item)
        return found

    def _feed(self, begun: threading.Event) -> None:
        begun.wait(ANSWER_SECONDS)
        self.served.wait_until_live()
        time.sleep(0.5)
        self.served.send(self.records())

    def _written(self) -> dict[str, list[Seen]]:
        served = self.served
        wanted: dict[str, int] = {}
        for record in self._rest.case.outputs:
            wanted[record.topic] = wanted.get(record.topic, 0) + 1
        served.wait_for(wanted)
        return {t: self._seen(w, {}, spread=False) for t, w in served.written().items()}

    # ---------------------------------------------------------------- the verdict

    def _judge_refusal(self, refused: Refused) -> Verdict:
        expected = self._rest.expected
        if expected is None:
            return Verdict("failed", f"refused: {refused}", f"refused: {_plain(str(refused))}")
        status = expected.get("status")
        if status is not None and status != refused.status:
            return Verdict("failed", f"status {refused.status}, not {status}: {refused}", "negative: another status")
        of_statement = str(expected.get("type", "")).endswith("KsqlStatementErrorMessage")
        if of_statement and "statementText" not in refused.body:
            return Verdict("failed", f"the error names no statement: {refused}", "negative: no statement")
        return Verdict("passed", f"refused: {refused}; wanted: {expected.get('message')}")

    def _check_answers(self) -> None:
        for i, expected in enumerate(self._rest.responses):
            [(kind, wanted)] = expected.items()
            if i >= len(self.answers):
                raise Difference("answers", f"response {i} ({kind}) is missing")
            actual = self.answers[i].get(kind)
            if actual is None:
                raise Difference("answers", f"response {i} is no {kind}: {json_text(self.answers[i])[:200]}")
            if kind == "admin":
                self._check_entity(wanted, actual, f"response {i}")
            else:
                self._check_rows([self._in_order(w) for w in wanted], actual, f"response {i}")

    def _in_order(self, wanted: Any) -> Any:
        """An object; the text of a message with the entries of its maps in the order of ours."""
        if isinstance(wanted.get("row"), str) and self._message is not None:
            parsed = text_format.Parse(wanted["row"], self._message())
            return {"row": _told(parsed)}
        return wanted

    def _check_entity(self, wanted: Any, actual: Any, where: str) -> None:
        for name, value in wanted.items():
            plain, _, how = name.partition("|")
            found = actual.get(plain) if isinstance(actual, Mapping) else None
            if isinstance(value, str):
                for n, statement in enumerate(self._rest.case.statements):
                    value = value.replace("{STATEMENT}" if n == 0 else f"{{STATEMENT_{n}}}", statement)
            if how == "starts_with":
                if not str(found).startswith(str(value)):
                    raise Difference("entity", f"{where}: {plain} is {found}")
            elif isinstance(value, Mapping):
                self._check_entity(value, found, f"{where}.{plain}")
            elif not same(value, found, lax=True):
                raise Difference("entity", f"{where}: {plain} is {found}, not {value}")

    def _check_rows(self, wanted: Sequence[Any], actual: Sequence[Any], where: str) -> None:
        if len(wanted) != len(actual):
            shown = json.dumps(actual, ensure_ascii=False)[:400]
            raise Difference("number of rows", f"{where}: {len(actual)} rows, not {len(wanted)}: {shown}")
        actual = list(actual)
        if not self._rest.ordered:
            left = [r for r in actual if "row" in r]
            for i, row in enumerate(wanted):
                if "row" in row:
                    match = next((a for a in left if _fits(row, a)), None)
                    if match is None:
                        raise Difference("rows", f"{where}[{i}]: no row {json_text(row)} in {json_text(left)[:300]}")
                    left.remove(match)
                    actual[i] = match
        for i, (w, a) in enumerate(zip(wanted, actual, strict=True)):
            if not _fits(w, a):
                raise Difference("rows", f"{where}[{i}]: {json_text(a)}, not {json_text(w)}")


def _told(message: Any) -> str:
    """A message as text with its bytes: maps have no order of their own, so their entries get one."""
    _sort_entries(message)
    return f"{message.SerializeToString(deterministic=True).hex()} {sorted(str(message).splitlines())}"


def _sort_entries(message: Any) -> None:
    """Puts the entries of maps, which Kafka Connect has as repeated messages, in the order of their bytes."""
    for kind, found in message.ListFields():
        if kind.message_type is None:
            continue
        items = list(found) if kind.is_repeated else [found]
        for item in items:
            _sort_entries(item)
        if kind.is_repeated and kind.message_type.name.endswith("Entry"):
            found.sort(key=lambda m: m.SerializeToString(deterministic=True))


def _fits(wanted: Any, actual: Any) -> bool:
    """Whether an object has all that is wanted of it."""
    if isinstance(wanted, Mapping):
        if not isinstance(actual, Mapping):
            return False
        for name, value in wanted.items():
            plain, _, how = name.partition("|")
            found = actual.get(plain)
            if not (str(found).startswith(str(value)) if how == "starts_with" else _fits(value, found)):
                return False
        return True
    return same(wanted, actual, lax=True)


def _plain(text: str) -> str:
    return re.sub(r"\d+", "#", re.sub(r"`[^`]*`|'[^']*'", "…", text))[:90]


def run_rest(cases: Sequence[RestCase], *, jobs: int) -> list[Result]:
    """The results of cases on one server, so many at a time."""

    def one(rest: RestCase) -> Result:
        began = time.monotonic()
        verdict = _verdict(engine, http, rest)
        case = rest.case
        if verdict.result == "failed":
            print(f"{case.full_name}: {verdict.reason}", file=sys.stderr, flush=True)
        title = f"{case.name} - {case.format}" if case.format else case.name
        return Result(case.file, title, case.file, case.formats, verdict, time.monotonic() - began)

    with (
        engine_of_its_own() as engine,
        ServerThread(engine) as server,
        httpx.Client(base_url=server.url, timeout=120) as http,
        ThreadPoolExecutor(jobs) as pool,
    ):
        return list(pool.map(one, cases))


def _verdict(engine: Engine, http: httpx.Client, rest: RestCase) -> Verdict:
    given = skipped(rest.case)
    if given is not None:
        return given
    run = RestRun(engine, http, rest, replace(PACE, deadline=120))
    try:
        return run.run()
    except KsqlError as e:
        return Verdict("failed", f"refused: {e.code}: {e.summary()}", f"refused: {e.code}")
    except CaseFailed as e:
        return Verdict("failed", str(e), "the query failed")
    except Exception as e:  # whatever it is belongs to the case
        return Verdict("failed", f"crash: {type(e).__name__}: {first_line(e)}", f"crash: {type(e).__name__}")
    finally:
        run.drop()
