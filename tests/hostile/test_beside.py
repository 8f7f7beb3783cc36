"""Every hostile thing in turn, beside ten healthy queries at 500 records a second that must not feel it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import http.client
import json
import os
import socket
import time
from collections.abc import Callable, Iterator

import h2.config
import h2.connection
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ksqlpy.errors import KsqlError
from tests.hostile.beside import Beside
from tests.hostile.ports import NONSENSE, listening, said
from tests.hostile.registry import answering, doubling_avro, whole
from tests.support.waiting import until

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.extended("a server as a process, under load"),
]

INFO = 10.0
"""Seconds that /info may take, and :data:`LATE` that results may be late, so that a busy machine fails no test."""
LATE = 60.0

ATTACKED = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM attacked (k STRING KEY, v STRING) WITH (KAFKA_TOPIC = 'attacked', VALUE_FORMAT = 'JSON');
CREATE STREAM attacked_rows WITH (QUERY_ID = 'attacked_rows', KAFKA_TOPIC = 'attacked_rows') AS
  SELECT k, v FROM attacked;
CREATE TABLE attacked_counts WITH (QUERY_ID = 'attacked_counts', KAFKA_TOPIC = 'attacked_counts') AS
  SELECT k, COUNT(*) AS n FROM attacked GROUP BY k;
CREATE STREAM attacked_large WITH (QUERY_ID = 'attacked_large', KAFKA_TOPIC = 'attacked_large') AS
  SELECT k, RPAD(v, 3000000, 'x') AS v FROM attacked WHERE v = 'large';
"""
NESTED = functools.reduce(lambda text, _: f"REPLACE({text}, 'a', 'aaaaaaaa')", range(12), "v")
"""Eight times as long with each of the twelve: a text of more bytes than there is memory anywhere."""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with contextlib.ExitStack() as stack:
        registry = stack.enter_context(answering(whole(json.dumps({"id": 1, "schema": doubling_avro()}).encode())))
        more = {"ksql.schema.registry.url": registry}
        made = stack.enter_context(Beside(tmp_path_factory.mktemp("beside"), more))
        admin = AdminClient(made.connection.admin({}))
        admin.create_topics([NewTopic("attacked", 1, config={"max.message.bytes": "8388608"})])["attacked"].result(30)
        made.server.statements(ATTACKED)
        assert until(lambda: set(made.server.queries().values()) == {"RUNNING"})
        time.sleep(2)
        made.forget()
        yield made
        verdicts = made.verdicts()
        assert [v.job for v in verdicts if not v.ok] == []


@pytest.fixture(autouse=True)
def measured(beside: Beside, request: pytest.FixtureRequest) -> Iterator[None]:
    """What the ten queries and /info felt of a test, and of the three seconds behind it."""
    beside.forget()
    yield
    time.sleep(3)
    info, bare = beside.info * 1000, beside.bare * 1000
    print(f"\n{request.node.name:50} /info {info:6.0f} ms, bare {bare:5.0f} ms, results {beside.late:5.1f} s", end=" ")
    assert beside.failures == 0
    assert beside.info < INFO
    assert beside.late < LATE


def write(beside: Beside, *values: bytes, compression: str = "none", topic: str = "attacked", **more: object) -> None:
    settings = {"message.max.bytes": 1_000_000_000, "queue.buffering.max.kbytes": 2_000_000}
    producer = Producer(beside.connection.producer({"compression.type": compression, **settings}))
    for value in values:
        producer.produce(topic, key=b"k", value=value, **more)
    assert producer.flush(120) == 0


def refused(beside: Beside, sql: str) -> str:
    try:
        beside.server.statements(sql)
    except KsqlError as e:
        return e.code
    return ""


def connected(beside: Beside, data: bytes = b"") -> socket.socket:
    host, _, port = beside.server.url.removeprefix("http://").partition(":")
    made = socket.create_connection((host, int(port)), timeout=30)
    made.sendall(data)
    return made


def request(path: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


# ---------------------------------------------------------------- records


def test_a_record_of_200_mb_in_some_kb(beside: Beside) -> None:
    bomb = b'{"V": "' + bytes(200_000_000) + b'"}'
    for codec in ("zstd", "gzip", "lz4"):
        write(beside, bomb, compression=codec)


def test_a_batch_of_600_mb(beside: Beside) -> None:
    write(beside, *[b'{"V": "' + b"a" * 1_000_000 + b'"}'] * 600, compression="zstd", topic="attacked")


def test_broken_records(beside: Beside) -> None:
    write(beside, b'{"V": "' + b"x" * 4_000_000, b"\xff" * 1_000_000, b"[" * 1_000_000, b'{"V": 1e999999999}')


def test_times_that_are_none(beside: Beside) -> None:
    for time_ in (1_700_000_000_000_000_000, 9_223_372_036_854_775_806, 0, 1):
        write(beside, b'{"V": "early or late"}', timestamp=time_)


def test_results_that_are_too_large(beside: Beside) -> None:
    write(beside, *[b'{"V": "large"}'] * 20)


def test_forged_headers(beside: Beside) -> None:
    for value in (b"", b"\xff" * 40, os.urandom(24), b"\x80" * 11):
        write(beside, b'{"V": "forged"}', topic="attacked_rows", headers=[("ksqlpy.at", value)])


# ---------------------------------------------------------------- statements


def test_patterns_without_end(beside: Beside) -> None:
    write(beside, *[b'{"V": "' + b"a" * 50 + b'"}'] * 100)
    like = "LIKE '" + "%a" * 25 + "%b'"
    refused(beside, f"SELECT k FROM attacked WHERE v {like};")
    for _ in range(20):
        connected(beside, request("/query-stream", {"sql": f"SELECT k FROM attacked WHERE v {like};"})).close()


def test_values_that_grow(beside: Beside) -> None:
    beside.server.statements(
        f"CREATE STREAM grown WITH (QUERY_ID = 'grown') AS SELECT k, LEN({NESTED}) AS n FROM attacked;"
    )
    write(beside, *[b'{"V": "aaaaaaaa"}'] * 20)
    assert until(lambda: beside.server.queries()["GROWN"] == "RUNNING")
    beside.server.statements("DROP STREAM grown;")


def test_windows_without_number(beside: Beside) -> None:
    assert refused(
        beside,
        "CREATE TABLE hopping AS SELECT k, COUNT(*) FROM attacked"
        " WINDOW HOPPING (SIZE 1 DAYS, ADVANCE BY 1 MILLISECONDS) GROUP BY k;",
    )


def test_statements_that_are_long(beside: Beside) -> None:
    branches = " ".join(f"WHEN v = '{i}' THEN {i}" for i in range(3_000))
    columns = ", ".join(f"v AS c{i}" for i in range(5_000))
    for sql in (
        f"EXPLAIN SELECT CASE {branches} END FROM attacked EMIT CHANGES;",
        f"EXPLAIN SELECT {columns} FROM attacked EMIT CHANGES;",
        "SELECT " + "word " * 1_000_000 + "FROM attacked;",
        "SELECT 1 " + "/*" * 7_000_000,
        "'" * 15_000_000,
        "SELECT " + "(" * 400_000,
    ):
        refused(beside, sql)


# ---------------------------------------------------------------- connections


def test_many_connections_that_are_left(beside: Beside) -> None:
    for _ in range(300):
        with connected(beside, b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n") as one:
            assert b"200" in one.recv(65_536)


def test_many_idle_connections(beside: Beside) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(1_400):
            stack.enter_context(connected(beside, b"GET /info HTTP/1.1\r\nHo" if number % 2 else b""))
        time.sleep(5)


def test_statements_that_wait_for_nobody(beside: Beside) -> None:
    wanted = "ASSERT TOPIC nope TIMEOUT 36500 DAYS;"
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connected(beside, request("/ksql", {"ksql": wanted})))
        assert beside.server.queries()
        time.sleep(3)
    assert beside.server.queries()


def test_push_queries_that_nobody_reads(beside: Beside) -> None:
    body = {"sql": "SELECT * FROM chaos_orders EMIT CHANGES;", "properties": {"auto.offset.reset": "earliest"}}
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            one = stack.enter_context(connected(beside, request("/query-stream", body)))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        time.sleep(10)


def test_streams_that_are_reset(beside: Beside) -> None:
    """HTTP/2's rapid reset: requests that are taken back at once."""
    for _ in range(5):
        client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        client.initiate_connection()
        with connected(beside, client.data_to_send()) as one, contextlib.suppress(OSError):
            for number in range(1, 4_000, 2):
                client.send_headers(
                    number, [(":method", "GET"), (":path", "/info"), (":authority", "localhost"), (":scheme", "http")]
                )
                client.reset_stream(number, 8)
                one.sendall(client.data_to_send())


def test_requests_that_two_servers_read_differently(beside: Beside) -> None:
    for head in (
        b"POST /ksql HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /info",
        b"GET /info HTTP/1.1\nHost: a\n\n",
        b"GET /info HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
        b"GET /info HTTP/9.9\r\nHost: a\r\n\r\n",
        b"GET /info HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100_000,
    ):
        with connected(beside) as one, contextlib.suppress(OSError):
            one.sendall(head)
            one.shutdown(socket.SHUT_WR)
            while one.recv(65_536):
                pass


def test_nonsense_at_all_ports(beside: Beside) -> None:
    ports = [port for _, port in listening(beside.server)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(said, [p for p in ports for _ in NONSENSE], NONSENSE * len(ports)))


def test_a_registry_whose_schemas_double(beside: Beside) -> None:
    made: Callable[[str], str] = lambda name: (  # noqa: E731
        f"CREATE STREAM {name} WITH (KAFKA_TOPIC = 'attacked', VALUE_FORMAT = 'AVRO', VALUE_SCHEMA_ID = 1);"
    )
    for name in ("doubled", "doubled_again"):
        assert refused(beside, made(name))


def test_clients_that_leave_in_the_middle(beside: Beside) -> None:
    host = beside.server.url.removeprefix("http://")
    for sql in ("SHOW QUERIES EXTENDED;", "DESCRIBE attacked EXTENDED;", "SHOW STREAMS;", "LIST TOPICS EXTENDED;") * 25:
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("POST", "/ksql", json.dumps({"ksql": sql}), {"Content-Type": "application/json"})
        connection.close()
