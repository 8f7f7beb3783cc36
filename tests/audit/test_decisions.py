"""Which lines the audit log gets of requests to a real server: the examples of ``decisions.txt``.

A block is who asks and his roles, and the endpoint; what is asked, ``----``, and the lines: kind and decision, the
statement as it is masked, what it is about, and what else is said. Set KSQLPY_REWRITE to rewrite the lines, and read
the difference.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from ksqlpy.access import asking
from ksqlpy.audit import AUDIT, Audit
from ksqlpy.audit.file import RotatedFile
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.run import ServerThread
from tests.access.engine import AccessEngine, somebody
from tests.access.test_lookups import of_engine, of_reader
from tests.support.waiting import until

FILE = Path(__file__).with_name("decisions.txt")
HEAD, *BLOCKS = FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
EXAMPLES = [(block + "\n").split("\n----\n", 1) for block in BLOCKS]

PASSWORD = "correct horse"
SECRET = "hunter"
"""Stands in statements and bodies where a secret could, and in no line."""


class Served:
    """A server with a login and an audit log; a context manager."""

    def __init__(self, users: Path, folder: Path) -> None:
        self.file = folder / "audit"
        engine = AccessEngine(reading=True)
        given = {"ksqlpy.audit.file": str(self.file), "ksqlpy.auth.users.file": str(users)}
        seams: Any = engine
        seams.brokers.config = replace(engine.config, values={**engine.config.values, **given})
        seams.brokers.problem = lambda: None
        self._server = ServerThread(engine)

    def __enter__(self) -> Served:
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.__exit__(None, None, None)

    def ask(self, who: str, path: str, text: str, **headers: str) -> httpx.Response:
        sql = {"/ksql": "ksql", "/query": "ksql", "/query-stream": "sql", "/close-query": "queryId"}
        properties = "properties" if path == "/query-stream" else "streamsProperties"
        body: dict[str, Any] = {sql[path]: text, properties: {"auto.offset.reset": "earliest"}} if path in sql else {}
        auth = (who, PASSWORD) if who not in ("nobody", "mallory") else None
        if who == "mallory":
            auth = (who, SECRET)
        with httpx.Client(base_url=self._server.url, timeout=30, trust_env=False, auth=auth) as client:
            if path == "/inserts-stream":
                return client.post(path, content=text, headers=headers)
            method = "POST" if path in sql or path == "/ksql/terminate" else "GET"
            return client.request(method, path, json=body if method == "POST" else None, headers=headers)

    def lines(self) -> list[dict[str, Any]]:
        """The whole log; the server has ended."""
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]


def shown(line: dict[str, Any]) -> str:
    """A line as an example shows it."""
    code = f" {line['error_code']} {line['error']}" if "error" in line else ""
    times = f" {line['count']} times" if "count" in line else ""
    said = [f"{line['kind']}{times}: {line['decision']}{code}"]
    if "statement" in line:
        said.append(f"  {line['statement']}")
    if "digest" in line:
        said.append(f"  {line['length']} characters, a digest of {len(line['digest'])}")
    for o in line.get("objects", ()):
        topic = f", topic {o['topic']}" if "topic" in o else ""
        right = f"{o['right']} on " if "right" in o else ""
        said.append(f"  {right}{o['kind']} {o.get('name', '')}{topic}".rstrip())
    more = {n: line[n] for n in ("user", "rows", "written", "closed", "added", "removed") if n in line}
    said += [f"  {name}: {value}" for name, value in more.items()]
    return "\n".join(said)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users"
    for name, roles in (("ann", "payments"), ("eve", "feeders"), ("root", "admin"), ("op", "operator")):
        add_user(file, name, PASSWORD, frozenset({roles}))
    return file


def answer(asked: str, users: Path, folder: Path) -> str:
    head, text = asked.split("\n", 1)
    who, path, *host = head.split()
    with Served(users, folder) as served:
        headers = {"Host": host[0]} if host else {}
        told = served.ask(who, path, text, **headers)
    said = served.lines()
    assert SECRET not in served.file.read_text(encoding="utf-8")
    for line in said:
        assert line["request"] == told.headers["x-request-id"]
        assert line["principal"] == (None if line["kind"] == "LOGIN" or told.status_code == 421 else who)
        assert (line["address"], line["endpoint"]) == ("127.0.0.1", path.partition("?")[0])
        assert line["process"] == "server" and line["ms"] >= 0
    return "\n".join(map(shown, said)) or "nothing"


@pytest.mark.parametrize(("asked", "expected"), EXAMPLES, ids=[e[0].replace("\n", " ")[:70] for e in EXAMPLES])
def test_lines_are_as_written(asked: str, expected: str, users: Path, tmp_path: Path) -> None:
    assert answer(asked, users, tmp_path) == expected.rstrip("\n")


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite(users: Path, tmp_path: Path) -> None:
    blocks = [HEAD]
    for number, (asked, _) in enumerate(EXAMPLES):
        (own := tmp_path / str(number)).mkdir()
        blocks.append(f"{asked}\n----\n{answer(asked, users, own)}")
    FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def test_two_principals_are_told_apart(users: Path, tmp_path: Path) -> None:
    with Served(users, tmp_path) as served:
        ids = [
            served.ask(who, "/ksql", "SHOW STREAMS;", **{"X-Request-Id": f"of-{who}"}).headers["x-request-id"]
            for who in ("ann", "root", "ann")
        ]
    assert ids == ["of-ann", "of-root", "of-ann"]
    told = [(d["request"], d["principal"], d["roles"], d["how"]) for d in served.lines()]
    ann, root = ("of-ann", "ann", ["payments"], "basic"), ("of-root", "root", ["admin"], "basic")
    assert told == [ann, root, ann]


def test_the_service_goes_on_when_nothing_can_be_written(users: Path, tmp_path: Path) -> None:
    (tmp_path / "audit").symlink_to("/dev/full")
    with Served(users, tmp_path) as served:
        for _ in range(3):
            assert served.ask("root", "/ksql", "SHOW STREAMS;").status_code == 200
        lost = 'ksqlpy_audit_lines_lost_total{place="file"} 3.0'
        assert until(lambda: lost in served.ask("op", "/metrics", "").text)
        assert 'place="queue"} 0.0' in served.ask("op", "/metrics", "").text


def test_lookups_are_noted_with_their_table(tmp_path: Path) -> None:
    """They are answered ahead of all that reads statements."""
    file = tmp_path / "audit"
    audit = Audit([RotatedFile(file, 1_000_000, 1)])
    engine = AccessEngine()
    for look_up, _ in (of_engine(engine, tmp_path), of_reader(engine, tmp_path / "copies")):
        token = AUDIT.set(audit)
        try:
            with asking(somebody("payments")):
                assert look_up("SELECT * FROM pay_of WHERE id = 31337;") is not None
                assert look_up("SELECT * FROM hush_of WHERE id = 31337;") is None  # whose refusal comes later
        finally:
            AUDIT.reset(token)
    audit.close()
    said = [shown(json.loads(line)) for line in file.read_text().splitlines()]
    lines = "PULL QUERY: allowed\n  SELECT * FROM pay_of WHERE id = 0;\n  SELECT on source PAY_OF, topic pay-of"
    assert said == [lines, lines]


def test_a_stream_of_rows_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "audit"
    audit = Audit([RotatedFile(file, 1_000_000, 1)])
    engine = AccessEngine()
    streams: Any = engine._inserts
    sender = SimpleNamespace(producer=SimpleNamespace(produce=lambda *args, **more: None), heard=lambda stream: None)
    streams._sender = lambda most: sender
    engine.brokers.kafka.record_limits = dict.fromkeys  # type: ignore[method-assign]  # no broker: no limits
    token = AUDIT.set(audit)
    try:
        with asking(somebody("payments")):
            stream = engine.insert_rows("pay_in")
            assert stream.write([b'{"id": 31337, "paycol": 1}', b'{"id": 2}', b'{"paycol": "hunter"}']) == 2
            for seq in range(2):
                stream._heard(seq, 1, None, None)  # type: ignore[arg-type]  # the broker has it
            stream.close()
            stream.close()
    finally:
        AUDIT.reset(token)
    audit.close()
    [line] = [json.loads(text) for text in file.read_text().splitlines()]
    assert shown(line) == (
        "INSERT STREAM: failed 40000 invalid-number\n  INSERT on source PAY_IN, topic pay-in\n  rows: 2\n  written: 2"
    )
