"""Requests that are wrong in every way, sent to the real server.

What comes is an error of ksqlDB's shape, never a stack; afterwards the server answers as before.
"""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.server.bodies import MAX_BODY
from ksqlpy.server.run import ServerThread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

RIDES = "CREATE STREAM rides (k STRING KEY, v INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
X5 = "x" * 5_000_000

Answer = tuple[int, dict[str, Any]]


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("hostile")),
                "ksqlpy.warm.up": "false",
                "ksqlpy.statements.max.bytes": str(MAX_BODY),
            }
        )
    )
    engine.start()
    try:
        engine.execute(RIDES)
        engine.execute("CREATE STREAM narrow (v STRING) WITH (KAFKA_TOPIC='narrow', FORMAT='JSON', PARTITIONS=1);")
        with ServerThread(engine) as running:
            yield running
    finally:
        engine.stop()


@pytest.fixture
def client(server: ServerThread, caplog: pytest.LogCaptureFixture) -> Iterator[httpx.Client]:
    """Afterwards the server must be as it was, and have nothing in its log that nobody planned for."""
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        yield client
        answer = client.post("/ksql", json={"ksql": "SHOW STREAMS;"})
        assert [s["name"] for s in answer.json()[0]["streams"]] == ["NARROW", "RIDES"]
        assert client.get("/healthcheck").json()["isHealthy"]
    assert [r.getMessage() for r in caplog.records if r.exc_info] == []


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error, which has ksqlDB's shape and a message for people."""
    error: dict[str, Any] = json.loads(answer.content.splitlines()[-1])
    assert error["@type"] in ("generic_error", "statement_error")
    assert error["error_code"] // 100 == answer.status_code
    assert error["stackTrace"] == []
    is_for_people(error["message"])
    return error


def is_for_people(message: str) -> None:
    assert 0 < len(message) < 2500
    assert "\n" not in message
    assert re.search(r"Traceback|\bat org\.|\.java:|py4j|object at 0x|KafkaError\{|Exception\b.*\{", message) is None


REFUSED = {
    "CREATE STREAM t (a INT) WITH (KAFKA_TOPIC='../x', VALUE_FORMAT='JSON', PARTITIONS=1);": (40001, "name of a topic"),
    f"CREATE STREAM t AS SELECT k, '{X5}' AS a FROM rides;": (40001, "the command log takes 1,048,588"),
    f"INSERT INTO rides SELECT k, LEN('{X5}') AS v FROM rides;": (40001, "the command log takes 1,048,588"),
    f"CREATE STREAM t (k STRING KEY) WITH (KAFKA_TOPIC='{X5}', VALUE_FORMAT='JSON');": (40001, "the command log takes"),
    f"CREATE TYPE t AS STRUCT<{'x' * 1_100_000} INT>;": (40001, "the command log takes"),
    f"SELECT {'x' * 100_000} FROM rides EMIT CHANGES;": (40002, "/query-stream"),
    f"EXPLAIN SELECT {'x' * 100_000} FROM rides EMIT CHANGES;": (40001, "there is no column"),
    f"INSERT INTO narrow VALUES ('{X5}');": (40001, "it has 5,000,008 bytes, which are too many for the topic"),
    f"INSERT INTO narrow VALUES ('{'x' * 1_048_576}');": (40001, "max.message.bytes of topic narrow"),
    "INSERT INTO rides (ROWTIME, k) VALUES (-5, 'a');": (40001, "ROWTIME -5 is before 1970"),
    "CREATE STREAM t (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1, REPLICAS=5);": (
        40001,
        "topic t cannot be made: Unable to replicate",
    ),
    "CREATE STREAM t (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2000000000);": (40001, "too many"),
    "CREATE STREAM t (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=50000);": (40001, "Excessively"),
    "SELECT " + "(" * 5000 + "v" + ")" * 5000 + " FROM rides EMIT CHANGES;": (40001, "nested"),
    "CREATE STREAM t AS SELECT k, " + "+".join("v" * 2000) + " AS v FROM rides;": (40001, "in a row"),
    "SHOW STREAMS\0;": (40001, "unexpected character U+0000"),
}


@pytest.mark.parametrize(("sql", "expected"), REFUSED.items(), ids=[s[:60] + str(len(s)) for s in REFUSED])
def test_statement_is_refused_with_a_reason(client: httpx.Client, sql: str, expected: tuple[int, str]) -> None:
    before = client.post("/ksql", json={"ksql": "SHOW TOPICS;"}).json()[0]["topics"]
    error = error_of(client.post("/ksql", json={"ksql": sql}))
    assert error["error_code"] == expected[0]
    assert expected[1] in error["message"]
    assert client.post("/ksql", json={"ksql": "SHOW TOPICS;"}).json()[0]["topics"] == before


def test_a_record_as_large_as_its_topic_takes(client: httpx.Client) -> None:
    """The topic's own limit counts, not one of the client."""
    assert client.post("/ksql", json={"ksql": f"INSERT INTO narrow VALUES ('{'x' * 1_040_000}');"}).status_code == 200


BODIES = {
    "no JSON": (b"SHOW STREAMS;", "not JSON"),
    "cut": (b'{"ksql": "SHOW', "not JSON"),
    "not UTF-8": (b'{"ksql": "\xff"}', "not JSON"),
    "half a character": (b'{"ksql": "\\ud800", "sql": "\\ud800"}', "not JSON"),
    "deep": (b'{"ksql": ' + b"[" * 100_000, "not JSON"),
    "text": (b'"SHOW STREAMS;"', 'not text (hint: send an object such as {"'),
    "array": (b'["SHOW STREAMS;"]', 'not an array (hint: send an object such as {"'),
    "null": (b"null", 'not a number or constant (hint: send an object such as {"'),
    "number": (b'{"ksql": 5, "sql": 5, "queryId": 5, "text": 5, "id": 5}', "must be text"),
    "nothing": (b"{}", "is missing"),
    "too large": (b'{"ksql": "' + b"x" * MAX_BODY + b'"}', "more than 16 MiB"),
}


@pytest.mark.parametrize("path", ["/ksql", "/query-stream", "/close-query", "/check", "/complete", "/plan/apply"])
@pytest.mark.parametrize("body", BODIES)
def test_body_is_refused_with_a_reason(client: httpx.Client, path: str, body: str) -> None:
    data, reason = BODIES[body]
    error = error_of(client.post(path, content=data))
    assert error["error_code"] == (41300 if body == "too large" else 40000)
    assert reason in error["message"]


KEYS = {
    "streamsProperties": [[], "x", 5, {"a": 1}, {"auto.offset.reset": {}}, {"commit.interval.ms": "9" * 5000}],
    "sessionVariables": [[], "x", {"a": 5}, {"a": None}],
    "requestProperties": [[], "x", 5],
    "commandSequenceNumber": ["1", 1.5, [], True],
}


@pytest.mark.parametrize(
    ("key", "value"), [(k, v) for k, values in KEYS.items() for v in values], ids=lambda v: str(v)[:30]
)
def test_wrong_types_of_fields(client: httpx.Client, key: str, value: object) -> None:
    assert error_of(client.post("/ksql", json={"ksql": "SHOW STREAMS;", key: value}))["error_code"] == 40000


def test_json_is_utf8(client: httpx.Client) -> None:
    answer = client.post("/ksql", json={"ksql": "DESCRIBE `Straße €𝄞`;"})
    assert "Straße €𝄞".encode() in answer.content


PIECES = [
    "SELECT", "FROM", "rides", "EMIT CHANGES", "CREATE STREAM", "CREATE TABLE", "AS", "WITH", "(", ")", ",", ";",
    "'", '"', "`", "k", "v", "*", "INSERT INTO", "VALUES", "1", "-1", "1e400", "99999999999999999999", "0x", "NULL",
    "GROUP BY", "WHERE", "WINDOW TUMBLING (SIZE 1 HOUR)", "PARTITION BY", "JOIN", "ON", "=", "||", "CASE WHEN",
    "END", "CAST(", "AS INT)", "${x}", "--", "/*", "*/", "\0", "\x1b[31m", "\u202e", "é", "𝄞", "\ufeff", "\r\n",
    "DROP STREAM nope", "DESCRIBE", "EXPLAIN", "SHOW TOPICS", "SHOW QUERIES EXTENDED", "TERMINATE nope",
    "SET 'x'='y'", "DEFINE x='y'", "ARRAY[", "]", "MAP(", ":=", "STRUCT(", "=>", "->", "INTERVAL", "LIMIT",
    "ASSERT TOPIC x TIMEOUT 0 SECONDS", "PRINT rides", "PAUSE nope", "LPAD(", "REGEXP_EXTRACT(", "'['",
]  # fmt: skip
PATHS = ["/ksql", "/query-stream", "/close-query"] * 10
PATHS += ["/check", "/complete", "/plan", "/plan/apply", "/deadletters", "/deadletters/summary"] * 2
PATHS += [
    "/graph",
    "/whoami",
    "/figures?limit=1",
    "/figures?limit=-1",
    "/figures/history?query=%ff",
    "/figures/history",
]
PATHS += ["/queries/%00/log", "/queries//log", "/queries/a/b/log", "/ui/%00", "/ui/..%2f..%2fetc/passwd", "/ui/\\"]
PATHS += ["/query", "/inserts-stream", "/info", "/healthcheck", "/", "/%00", "/chc/ready", "/status/a/b/c", "//ksql"]
PATHS += ["/is_valid_property/%ff%00", "/is_valid_property/" + "x" * 4000, "/ksql/../ksql"]
JUNK: list[object] = [None, True, 5, -1, 1e308, 10**18, "", "\0", "x" * 3000, [], [1], {}, {"a": {"b": []}}, "𝄞"]


def junk_request(chance: random.Random) -> httpx.Request:
    """A request that is likely to be wrong somewhere."""
    sql = " ".join(chance.choices(PIECES, k=chance.randint(0, 12))) + chance.choice([";", "", ";;"])
    known: dict[str, object] = {
        "ksql": sql,
        "sql": sql,
        "queryId": "q",
        "streamsProperties": {},
        "properties": {},
        "sessionVariables": {},
    }
    files = [{"name": "a.sql", "sql": sql}]
    known |= {"text": sql, "offset": chance.choice([0, len(sql), 10**9]), "id": "x", "files": files}
    body: dict[str, object] = {**known, "commandSequenceNumber": -1}
    for _ in range(chance.randint(0, 2)):
        body[chance.choice([*body, "novel"])] = chance.choice(JUNK)
    if chance.random() < 0.3:
        body.pop(chance.choice(list(body)))
    data = json.dumps(body, ensure_ascii=chance.random() < 0.5).encode()
    match chance.randint(0, 9):
        case 0:
            data = data[: chance.randrange(len(data))]
        case 1:
            place = chance.randrange(len(data))
            data = data[:place] + chance.randbytes(3) + data[place:]
        case 2:
            data = json.dumps(chance.choice(JUNK)).encode()
    headers = {"Content-Type": chance.choice(["application/json", "text/plain", "x", ""])}
    if chance.random() < 0.2:
        headers["Accept"] = chance.choice(["*/*", "text/html", ";;;", "application/json;q=x", "a/b," * 500])
    method = chance.choice(["POST"] * 8 + ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"])
    path = chance.choice(PATHS)
    return httpx.Request(method, f"http://localhost{path}", content=data, headers=headers)


@pytest.mark.parametrize("seed", range(4))
def test_junk(client: httpx.Client, server: ServerThread, seed: int) -> None:
    chance = random.Random(seed)
    port = httpx.URL(server.url).port
    for number in range(100):
        made = junk_request(chance)
        request = client.build_request(
            made.method, made.url.copy_with(host="127.0.0.1", port=port), content=made.content, headers=made.headers
        )
        request.headers["host"] = "localhost"
        answer = client.send(request)
        place = (seed, number, made.method, str(made.url), made.content[:300], answer.content[:300])
        assert answer.status_code < 500, place
        if answer.status_code >= 400 and made.method != "HEAD":
            error_of(answer)


def test_what_is_no_http(client: httpx.Client, server: ServerThread) -> None:
    for data in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0" * 100_000,
        b"PRI * HTTP/2.0\r\n\r\nXX",
    ):
        with socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0), timeout=5) as connection:
            connection.sendall(data + b"\r\n\r\n")
            connection.shutdown(socket.SHUT_WR)
            said = connection.recv(65536)
            assert b"Traceback" not in said
