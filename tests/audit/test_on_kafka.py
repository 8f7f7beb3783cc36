"""A real server with readers, a login, logs as JSON and both places of the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition

from ksqlpy.audit.topic import last_records
from ksqlpy.client import Client, Connection
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.server.auth.users import add_user
from tests.harness.server import Server
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.extended("a server and its readers as processes")]

ROOT, EVE = ("root", "correct horse"), ("eve", "battery staple")
TOPIC = "_ksqlpy-audited_audit_log"


class Audited(Server):
    """One that its own client logs in to."""

    def __init__(self, broker: EmbeddedKafka, folder: Path) -> None:
        users, self.file = folder / "users", folder / "audit.log"
        add_user(users, *ROOT, frozenset({"admin"}))
        add_user(users, *EVE, frozenset({"reader"}))
        settings = {
            "ksqlpy.readers": "2",
            "ksqlpy.warm.up": "false",
            "ksql.service.id": "audited_",
            "ksqlpy.auth.users.file": str(users),
            "ksqlpy.audit.file": str(self.file),
            "ksqlpy.audit.topic": "true",
            "ksqlpy.log.format": "json",
        }
        super().__init__(KafkaConnection(broker.bootstrap), folder, settings)
        self._client.close()
        self._client = Client(Connection(self.url, *ROOT))

    def ask(self, id: str, path: str, body: object, login: tuple[str, str] = ROOT) -> httpx.Response:
        """By a connection of its own, which any of the processes may take."""
        with httpx.Client(trust_env=False, timeout=60) as client:
            headers = {"Accept": "application/json", "X-Request-Id": id}
            answer = client.post(self.url + path, json=body, auth=login, headers=headers)
            assert answer.headers.get_list("x-request-id") == [id]
            return answer

    def lines(self, process: str = "") -> list[dict[str, Any]]:
        """Those of a file of the audit log."""
        file = self.file.with_name(f"{self.file.name}{process}")
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def of(self, id: str, process: str = "") -> list[dict[str, Any]]:
        """Those of a request, once they are there."""
        return until(lambda: [e for e in self.lines(process) if e["request"] == id], 10)

    def logged(self, id: str) -> list[dict[str, Any]]:
        """The lines of the log for a request."""
        text = self.log.read_text(encoding="utf-8").splitlines()
        return [e for e in (json.loads(t) for t in text if t.startswith("{")) if e.get("request") == id]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    with EmbeddedKafka() as kafka:  # its own: consumers of processes that end leave their groups late
        made = Audited(kafka, tmp_path_factory.mktemp("audited"))
        made.start()
        made.statements(
            "CREATE TABLE known (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='known', FORMAT='JSON', PARTITIONS=1);"
            "INSERT INTO known VALUES (2, 'two');"
        )
        yield made
        made.stop()


def test_a_statement_by_whatever_process(server: Audited) -> None:
    for number in range(8):  # so many connections that each process has some
        server.ask(f"show-{number}", "/ksql", {"ksql": "SHOW TABLES;"}, EVE)
        [line] = server.of(f"show-{number}")
        told = [line[n] for n in ("process", "principal", "roles", "how", "address", "endpoint", "kind", "decision")]
        assert told == ["server", "eve", ["reader"], "basic", "127.0.0.1", "/ksql", "SHOW", "allowed"]


def test_a_lookup_is_noted_by_the_reader_that_answers(server: Audited) -> None:
    body, seen, count = {"sql": "SELECT * FROM known WHERE id = 2;"}, set(), 0

    def look() -> bool:
        nonlocal count
        count += 1
        header = server.ask(f"look-{count}", "/query-stream", body, EVE).json()[0]["queryId"]
        which = header.removeprefix("pull_").partition("_")[0]
        process = f".reader-{which[-1]}" if which.startswith("reader") else ""
        [line] = server.of(f"look-{count}", process)
        assert line["statement"] == "SELECT * FROM known WHERE id = 0;" and line["principal"] == "eve"
        assert line["objects"] == [{"kind": "source", "name": "KNOWN", "right": "SELECT", "topic": "known"}]
        assert line["process"] == (process.removeprefix(".") or "server")
        seen.add(process)
        return seen >= {".reader-1", ".reader-2"}

    assert until(look)


def test_the_topic_has_what_the_files_have(server: Audited) -> None:
    server.ask("refused", "/ksql", {"ksql": "DROP TABLE known;"}, EVE)
    [refused] = server.of("refused")
    assert (refused["decision"], refused["error_code"], refused["objects"][0]["right"]) == ("refused", 40300, "DROP")
    consumer = Consumer(KafkaConnection(server._bootstrap).consumer({"group.id": "audit", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[dict[str, Any]] = []

    def read() -> bool:
        found.extend(json.loads(m.value() or b"") for m in consumer.consume(1000, 0.5) if m.error() is None)
        return any(e["request"] == "refused" for e in found)

    try:
        assert until(read)
    finally:
        consumer.close()
    written = [e for p in ("", ".reader-1", ".reader-2") for e in server.lines(p)]
    assert all(e in written for e in found) and len(found) >= len(server.lines())


def test_the_last_lines_are_told_from_either_place(server: Audited) -> None:
    server.ask("lately", "/ksql", {"ksql": "SHOW STREAMS;"}, EVE)
    [line] = server.of("lately")
    look = {"sql": "SELECT * FROM known WHERE id = 2;"}

    def of_readers() -> list[dict[str, Any]]:
        """Lines of readers: one of them takes some connection."""
        server.ask("by-a-reader", "/query-stream", look, EVE)
        return [e for n in (1, 2) for e in server.lines(f".reader-{n}")]

    read_by = until(of_readers, 60)
    answer = httpx.get(f"{server.url}/audit?limit=1000", auth=ROOT, trust_env=False, timeout=60).json()
    assert answer["place"] == "file" and line in answer["entries"]
    assert read_by[0] in answer["entries"]
    connection = KafkaConnection(server._bootstrap)
    assert until(lambda: line in map(json.loads, last_records(connection, "audited_", 1000, 10)))
    newest = last_records(connection, "audited_", 2, 10)
    assert len(newest) == 2 and newest == last_records(connection, "audited_", 1000, 10)[-2:]
    assert last_records(connection, "nobodys_", 10, 10) == []


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE STREAM forged (kind STRING) WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON');",
        f"CREATE SOURCE STREAM seen (kind STRING) WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON');",
    ],
)
def test_nobody_writes_or_reads_the_topic_by_statements(server: Audited, sql: str) -> None:
    with pytest.raises(KsqlError, match="is internal"):
        server.statements(sql)


def test_levels_change_in_all_processes_and_in_java(server: Audited) -> None:
    count = 0

    def says_something(times: int = 12) -> bool:
        """Whether a line is logged for one of so many wrong logins, by any process."""
        nonlocal count
        ids = []
        for _ in range(times):
            count += 1
            ids.append(f"wrong-{count}")
            answer = server.ask(ids[-1], "/ksql", {"ksql": "SHOW TABLES;"}, (f"nobody{count}", "x" * 8))
            assert answer.status_code in (401, 429)
        return any(map(server.logged, ids))

    java = next(server.log.parent.glob("data-*/spark/spark.log"))
    assert says_something()
    changed = "ksqlpy.server=OFF,org.apache.spark=INFO"
    server.statements(f"ALTER SYSTEM 'ksqlpy.log.levels' = '{changed}';")
    [shown] = server.statements("SHOW PROPERTIES;")
    assert next(p["value"] for p in shown["properties"] if p["name"] == "ksqlpy.log.levels") == changed
    assert until(lambda: not says_something(4))
    assert not says_something(6)

    def info() -> list[dict[str, Any]]:
        lines = (json.loads(t) for t in java.read_text(encoding="utf-8").splitlines() if t.startswith("{"))
        return [e for e in lines if e["level"] == "INFO" and e["logger"].startswith("org.apache.spark")]

    assert info() == []
    server.statements("CREATE TABLE kept AS SELECT * FROM known;")
    assert until(lambda: [e for e in info() if e.get("query", "").startswith("CTAS_KEPT_")])
    server.statements("ALTER SYSTEM 'ksqlpy.log.levels' = '';")
    assert until(lambda: says_something(2))


def test_who_may_not_changes_no_levels(server: Audited) -> None:
    answer = server.ask("levels", "/ksql", {"ksql": "ALTER SYSTEM 'ksqlpy.log.levels' = 'root=OFF';"}, EVE)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 40300)
