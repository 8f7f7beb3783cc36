"""A real server with reader processes, a login and TLS: whoever answers a connection, the same are let in."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ksqlpy.client import Client, Connection
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.auth.users import add_user, remove_user
from tests.harness.server import Server
from tests.server.auth.authority import Authority
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.extended("a server and its readers as processes")]

ALICE = ("alice", "correct horse")
ASK = {"sql": "SELECT * FROM known WHERE id = 2;"}


class Guarded(Server):
    """One that its own client logs in to."""

    def __init__(self, broker: EmbeddedKafka, folder: Path) -> None:
        authority = Authority(folder, "authority")
        certificate, key = authority.certify("server")
        self.users = folder / "users"
        add_user(self.users, *ALICE, frozenset({"admin"}))
        self.trusted = ssl.create_default_context(cafile=authority.file)
        settings = {
            "ksqlpy.readers": "2",
            "ksqlpy.warm.up": "false",
            "ksql.service.id": "guarded_",
            "ksqlpy.tls.certificate": str(certificate),
            "ksqlpy.tls.key": str(key),
            "ksqlpy.auth.users.file": str(self.users),
        }
        super().__init__(KafkaConnection(broker.bootstrap), folder, settings)
        self._client.close()
        self._client = Client(Connection(self.secure, *ALICE, authority.file))

    @property
    def secure(self) -> str:
        return self.url.replace("http:", "https:")

    def ask(self, login: tuple[str, str] | None, path: str = "/query-stream") -> httpx.Response:
        """By a connection of its own, which any of the processes may take."""
        with httpx.Client(verify=self.trusted, trust_env=False, timeout=60) as client:
            body = ASK if path == "/query-stream" else {"ksql": "SHOW TABLES;"}
            return client.post(self.secure + path, json=body, auth=login, headers={"Accept": "application/json"})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with EmbeddedKafka() as kafka:  # its own: consumers of processes that end leave their groups late
        yield from guarded(Guarded(kafka, tmp_path_factory.mktemp("guarded")))


def guarded(made: Guarded) -> Iterator[Guarded]:
    made.start()
    made.statements(
        "CREATE TABLE known (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='guarded', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO known VALUES (2, 'two');"
    )
    yield made
    made.stop()
    _, outlived = made.wait_for_children()
    assert outlived == []
    made._client.close()


def test_all_processes_let_in_the_same(server: Guarded) -> None:
    seen: set[str] = set()

    def look() -> bool:
        answer = server.ask(ALICE)
        assert answer.status_code == 200, answer.text
        header, *rows = answer.json()
        seen.add(header["queryId"].rpartition("_")[0])
        return seen >= {"pull_reader1", "pull_reader2"} and rows == [[2, "two"]]

    assert until(look)
    for _ in range(8):
        assert server.ask(ALICE, "/ksql").json()[0]["tables"][0]["name"] == "KNOWN"
        assert {server.ask(None).status_code, server.ask(None, "/ksql").status_code} == {401}
    add_user(server.users, "bob", "battery staple", frozenset({"reader"}))
    bob = ("bob", "battery staple")
    assert {server.ask(bob).status_code for _ in range(8)} == {200}
    remove_user(server.users, "bob")
    assert {server.ask(bob).status_code for _ in range(8)} <= {401, 429}
