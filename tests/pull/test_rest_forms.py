"""The forms of answers over REST, from a server for a real engine."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import httpx
import pytest
from google.protobuf import message_factory

from ksqlpy.formats.protofile import proto_file
from ksqlpy.runtime import Engine
from ksqlpy.server.run import ServerThread

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ASK = "SELECT * FROM forms WHERE id = 1;"
EARLIEST = {"auto.offset.reset": "earliest"}


@pytest.fixture(scope="module")
def http(engine: Engine) -> Iterator[httpx.Client]:
    engine.execute(
        "CREATE TABLE forms (id INT PRIMARY KEY, name STRING, raw BYTES) WITH (KAFKA_TOPIC='forms', FORMAT='JSON',"
        " PARTITIONS=1);"
        "INSERT INTO forms VALUES (1, 'Ann', TO_BYTES('!', 'utf8')); INSERT INTO forms VALUES (2, 'Bob', NULL);"
        "DELETE FROM forms WHERE id = 2;"
        "CREATE STREAM forms_s (id INT KEY, v INT) WITH (KAFKA_TOPIC='forms_s', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO forms_s VALUES (1, 5); INSERT INTO forms_s VALUES (2, 6);"
    )
    with ServerThread(engine) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


def old(http: httpx.Client, sql: str) -> list[object]:
    answer = http.post("/query", json={"ksql": sql, "streamsProperties": EARLIEST})
    assert answer.status_code == 200, answer.text
    header, *rest = answer.json()
    assert header["header"].pop("queryId")
    return [header, *rest]


@pytest.mark.parametrize("time", ["first", "again"])  # then it is answered at once
def test_a_lookup_in_every_form(http: httpx.Client, time: str) -> None:
    schema = "`ID` INTEGER KEY, `NAME` STRING, `RAW` BYTES"
    assert old(http, ASK) == [{"header": {"schema": schema}}, {"row": {"columns": [1, "Ann", "IQ=="]}}]
    lines = http.post("/query-stream", json={"sql": ASK}).text.splitlines()
    assert lines[1:] == ['[1,"Ann","IQ=="]']
    whole = http.post("/query-stream", json={"sql": ASK}, headers={"Accept": "application/json"}).json()
    assert whole[0]["columnNames"] == ["ID", "NAME", "RAW"]
    assert whole[1:] == [[1, "Ann", "IQ=="]]
    accept = {"Accept": "application/vnd.ksql.v1+protobuf"}
    head, row = http.post("/query-stream", json={"sql": ASK}, headers=accept).json()
    message = message_factory.GetMessageClass(proto_file(head["header"]["protoSchema"]).first())()
    message.ParseFromString(base64.b64decode(row["row"]["protobufBytes"]))
    assert (message.ID, message.NAME, message.RAW) == (1, "Ann", b"!")


def test_how_an_answer_ended_is_said_of_streams_and_push_queries(http: httpx.Client) -> None:
    assert old(http, "SELECT v FROM forms_s;")[1:] == [
        {"row": {"columns": [5]}}, {"row": {"columns": [6]}}, {"finalMessage": "Query Completed"}
    ]  # fmt: skip
    assert old(http, "SELECT v FROM forms_s LIMIT 1;")[2:] == [{"finalMessage": "Limit Reached"}]
    assert old(http, "SELECT name FROM forms;")[1:] == [{"row": {"columns": ["Ann"]}}]
    assert old(http, "SELECT id, name FROM forms EMIT CHANGES LIMIT 3;") == [
        {"header": {"schema": "`ID` INTEGER, `NAME` STRING"}},
        {"row": {"columns": [1, "Ann"]}},
        {"row": {"columns": [2, "Bob"]}},
        {"row": {"columns": [2, None], "tombstone": True}},
        {"finalMessage": "Limit Reached"},
    ]


def test_what_is_wrong_is_an_error_with_its_place(http: httpx.Client) -> None:
    for path, body in (("/query", "ksql"), ("/query-stream", "sql")):
        answer = http.post(path, json={body: "SELECT nothing FROM forms WHERE id = 1;"})
        assert answer.status_code == 400
        assert answer.json()["error_code"] == 40001
        assert answer.json()["ksqlpy"]["code"] == "unknown-column"


def test_dates_and_times_are_texts(http: httpx.Client, engine: Engine) -> None:
    engine.execute(
        "CREATE TABLE times (id INT PRIMARY KEY, d DATE, t TIME, ts TIMESTAMP,"
        " more ARRAY<STRUCT<moment TIMESTAMP, n INT>>) WITH (KAFKA_TOPIC='times', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO times VALUES (1, '2026-05-06', '07:08:09', '2026-05-06T07:08:09.010',"
        " ARRAY[STRUCT(moment := CAST('1969-12-31T23:59:59.999' AS TIMESTAMP), n := 1)]);"
        "INSERT INTO times (id, d, t) VALUES (2, '0001-01-01', '07:08');"
    )
    first = [1, "2026-05-06", "07:08:09", "2026-05-06T07:08:09.010", [{"MOMENT": "1969-12-31T23:59:59.999", "N": 1}]]
    second = [2, "0001-01-01", "07:08", None, None]
    for ask in ("WHERE id = 1", "WHERE id = 1", "WHERE LEN('a') = id", "EMIT CHANGES LIMIT 1"):
        assert old(http, f"SELECT * FROM times {ask};")[1] == {"row": {"columns": first}}, ask
    for ask in ("WHERE id = 2", "WHERE id = LEN('ab')"):
        assert old(http, f"SELECT * FROM times {ask};")[1] == {"row": {"columns": second}}, ask
    expression = "SELECT d, DATEADD(DAYS, 1, d) AS next FROM times EMIT CHANGES LIMIT 1;"
    assert old(http, expression)[1] == {"row": {"columns": ["2026-05-06", "2026-05-07"]}}
