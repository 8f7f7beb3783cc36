"""As test_described.py, on a real server with a broker: ``--generated`` says how many requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ksqlpy.client import Client, Connection
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.auth.tokens import create_token
from tests.harness.server import Server
from tests.server.described import ask, grown, watched

pytestmark = [pytest.mark.kafka, pytest.mark.extended("a server as a process")]

FEW = 1_000

START = """
CREATE STREAM rides (city STRING KEY, id INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE cities (city STRING PRIMARY KEY, id INT) WITH (KAFKA_TOPIC='cities', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO rides VALUES ('Oslo', 1);
INSERT INTO cities VALUES ('Oslo', 1);
CREATE ROLE some; GRANT SELECT ON rides TO some;
"""
STATEMENTS = [
    "SHOW STREAMS EXTENDED;",
    "SHOW QUERIES;",
    "SHOW ALL TOPICS;",
    "DESCRIBE rides EXTENDED;",
    "EXPLAIN SELECT id + 1 FROM rides EMIT CHANGES;",
    "CREATE STREAM IF NOT EXISTS more (a INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON');",
    "DROP STREAM IF EXISTS more;",
    "INSERT INTO rides VALUES ('Oslo', 2);",
    "SELECT * FROM cities WHERE city = 'Oslo';",
    "SELECT * FROM rides;",
    "SELECT * FROM nothing;",
    "PRINT rides FROM BEGINNING LIMIT 1;",
    "SELECT id FROM rides EMIT CHANGES LIMIT 0;",
    "SHOW STREAMS; SELEKT;",
    "GRANT SELECT ON rides TO nobody;",
    "TERMINATE nothing;",
    "",
]


class Guarded(Server):
    """With tokens, of which the own client has one. ``tokens``: their file."""

    def __init__(self, broker: EmbeddedKafka, folder: Path) -> None:
        self.tokens = folder / "tokens"
        token = create_token(self.tokens, "root", frozenset({"admin"}), 0)
        more = {"ksqlpy.auth.tokens.file": str(self.tokens), "ksqlpy.warm.up": "false", "ksql.service.id": "described_"}
        super().__init__(KafkaConnection(broker.bootstrap), folder, more)
        self._client.close()
        self._client = Client(Connection(self.url, token=token))


@pytest.fixture
def server(broker: EmbeddedKafka, tmp_path: Path) -> Iterator[Guarded]:
    made = Guarded(broker, tmp_path)
    made.start()
    made.statements(START)
    yield made
    made.stop()
    made.close()


def test_generated_requests(server: Guarded, generated: Callable[[int], int]) -> None:
    count = generated(FEW)
    # None of these may end the service.
    tokens = [
        create_token(server.tokens, role, frozenset({role}), 0) for role in ("developer", "operator", "reader", "some")
    ]
    logins = [{"Authorization": f"Bearer {token}"} for token in (tokens[0], *tokens)] + [{}]
    samples, look = watched(server.pid, count)
    endless = ["/figures"]
    found = ask(
        server.url, count, statements=STATEMENTS, logins=logins, leave_out=endless, meanwhile=look, number=count
    )
    print(f"\n{found}")
    assert grown(samples, count) == []
    assert not found.wrong, str(found)
    assert server.statements("SHOW STREAMS;")[0]["streams"]
    log = server.log.read_text(encoding="utf-8", errors="replace")
    assert "Traceback" not in log, log[log.index("Traceback") - 1000 :][:4000]
