"""DB-API and cells of notebooks at a real engine, embedded and over REST."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from pyspark.sql import SparkSession

from ksqlpy import dbapi
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from ksqlpy.session.embedded import Engine
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

WAIT = 300
"""Seconds for which a table is waited for: tests run beside others."""


class Point(NamedTuple):
    x: int


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    config = {"ksqlpy.warm.up": "false", "commit.interval.ms": 1000, "ksql.service.id": "interfaces_"}
    with Engine(broker.bootstrap, tmp_path_factory.mktemp("interfaces") / "data", config) as engine:
        yield engine


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[ServerThread]:
    with ServerThread(engine._engine) as running:
        yield running


@pytest.fixture(params=["embedded", "REST"])
def session(request: pytest.FixtureRequest, engine: Engine, server: ServerThread) -> Iterator[Session]:
    if request.param == "embedded":
        yield engine
        return
    with connect(server.url) as remote:
        yield remote


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name of its own for each test and way."""
    return "".join(c for c in request.node.name if c.isalnum())


def test_statements_rows_and_their_types(session: Session, name: str) -> None:
    with dbapi.connect(session=session) as connection, connection.cursor() as cursor:
        cursor.execute(
            f"CREATE STREAM {name} (id INT KEY, b BOOLEAN, big BIGINT, d DOUBLE, money DECIMAL(6, 2), s STRING,"
            " raw BYTES, day DATE, clock TIME, stamp TIMESTAMP, l ARRAY<INT>, m MAP<STRING, INT>, o STRUCT<x INT>)"
            f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1)"
        )
        assert cursor.description is None and cursor.answers[0]["commandStatus"]["status"] == "SUCCESS"
        values = {
            "id": 7,
            "b": True,
            "big": 2**40,
            "d": 0.5,
            "money": Decimal("12.50"),
            "s": "it's :id ${x}",
            "raw": b"\x00\xff",
            "day": date(2024, 5, 6),
            "clock": time(7, 8, 9),
            "stamp": datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
            "l": [1, 2],
            "m": {"a": 1},
            "o": Point(3),
        }
        cursor.execute(f"INSERT INTO {name} VALUES ({', '.join(f':{v}' for v in values)})", values)
        assert cursor.rowcount == 1
        cursor.executemany(f"INSERT INTO {name} (id, s) VALUES (:id, :s)", [{"id": n, "s": "x"} for n in (8, 9)])
        assert cursor.rowcount == 2
        cursor.execute(f"SELECT * FROM {name} WHERE s = :s", {"s": values["s"]})
        kinds = [dbapi.NUMBER, dbapi.BOOLEAN, *[dbapi.NUMBER] * 3, dbapi.STRING, dbapi.BINARY, *[dbapi.DATETIME] * 3]
        kinds += [dbapi.NESTED] * 3
        assert cursor.description is not None
        assert [kind == column[1] for kind, column in zip(kinds, cursor.description, strict=True)] == [True] * 13
        assert cursor.description[4] == ("MONEY", "DECIMAL", None, None, 6, 2, None)
        assert [list(row) for row in cursor.fetchall()] == [[*list(values.values())[:-1], {"X": 3}]]
        cursor.execute(f"SELECT id FROM {name}")
        assert (cursor.fetchone(), cursor.fetchmany(1), cursor.fetchall()) == ((7,), [(8,)], [(9,)])
        assert cursor.fetchone() is None


def test_what_is_refused(session: Session, name: str) -> None:
    with dbapi.connect(session=session) as connection:
        cursor = connection.cursor()
        with pytest.raises(dbapi.ProgrammingError) as unknown:
            cursor.execute("SELECT * FROM nowhere WHERE id = :id", {"id": 1})
        assert unknown.value.code == "unknown-source"
        with pytest.raises(dbapi.ProgrammingError):
            cursor.execute("SELEC 1")
        with pytest.raises(dbapi.DataError):
            cursor.execute("SELECT * FROM nowhere WHERE id = :id", {"id": object()})
        with pytest.raises(dbapi.InterfaceError):
            cursor.fetchone()
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor()
    assert not session.closed


def test_a_push_query_and_its_end(session: Session, name: str) -> None:
    session.sql(
        f"CREATE STREAM {name} (id INT KEY, v INT) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    session.insert(name, [{"id": n, "v": n} for n in range(3)])
    with dbapi.connect(session=session) as connection, connection.cursor() as cursor:
        cursor.execute("SET 'auto.offset.reset' = 'earliest'")
        cursor.execute(f"SELECT id FROM {name} EMIT CHANGES")
        assert [cursor.fetchone() for _ in range(3)] == [(0,), (1,), (2,)]
        cursor.execute(f"SELECT COUNT(*) AS n FROM {name}")  # which ends the one before
        assert cursor.fetchall() == [(3,)]
        cursor.execute("UNSET 'auto.offset.reset'")


def test_a_connection_by_its_url(server: ServerThread) -> None:
    with dbapi.connect(server.url) as connection:
        assert connection.cursor().execute("SHOW TOPICS").answers[0].kind == "kafka_topics"
    assert connection.session.closed
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect("http://127.0.0.1:9")


@pytest.fixture
def shell(session: Session) -> Iterator[InteractiveShell]:
    """A notebook's shell, in which the session ``s`` is asked."""
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(history_length=0)
    made.history_manager.enabled = False
    made.kernel = object()
    made.run_line_magic("load_ext", "ksqlpy")
    made.user_ns["s"] = session
    made.run_line_magic("ksql", "s")
    yield made
    made.run_line_magic("unload_ext", "ksqlpy")
    InteractiveShell.clear_instance()
    assert not session.closed


def cell(shell: InteractiveShell, text: str) -> Any:
    """What the cell shows, and how it ended."""
    with capture_output() as seen:
        seen.result = shell.run_cell(text)
    return seen


def test_cells(shell: InteractiveShell, session: Session, name: str) -> None:
    declared = cell(
        shell,
        f"%%ksql\nSET 'auto.offset.reset' = 'earliest';\nCREATE STREAM {name} (zone STRING KEY, fare INT)\n"
        f"  WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1);\n"
        f"CREATE TABLE {name}_n AS SELECT zone, COUNT(*) AS n FROM {name} GROUP BY zone;",
    )
    assert declared.result.success and "Stream created" in declared.stdout
    session.insert(name, [{"zone": z, "fare": n} for n, z in enumerate(("Queens", "Bronx", "Queens"))])
    assert session.table(f"{name}_n").get("Queens", wait=WAIT) == ("Queens", 2)
    shell.user_ns.update(where="Queens", least=1)
    asked = f"%%ksql --into found\nSELECT zone, n FROM {name}_n WHERE zone = :where"
    for _ in range(2):  # a cell that is run again
        last = cell(shell, asked).outputs[-1].data
        assert last["text/plain"].splitlines()[2:] == ["Queens  2", "1 row"]
    assert shell.user_ns["found"] == [("Queens", 2)]
    for _ in range(2):
        asked = f"SELECT zone, fare FROM {name} WHERE fare >= :least EMIT CHANGES"
        live = cell(shell, f"%%ksql --seconds 5 --into live\n{asked}")
        assert live.result.success and shell.user_ns["live"] == [("Bronx", 1), ("Queens", 2)]
        assert "<td>Bronx</td>" in live.outputs[-1].data["text/html"]
    assert until(lambda: not [q for q in session.sql("SHOW QUERIES;")[0]["queries"] if q["queryType"] == "PUSH"])
    plotted = cell(shell, f"%%ksql --plot\nSELECT zone, n FROM {name}_n;").outputs[-1].data["text/plain"]
    assert f"Queens  {'█' * 40} 2" in plotted
    refused = cell(shell, "%%ksql\nSELECT * FROM nowhere;")
    assert not refused.result.success and "NOWHERE" in refused.stdout
    again = cell(shell, f"%%ksql\nCREATE STREAM {name} (id INT) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');")
    assert not again.result.success and "already" in again.stdout
    cell(shell, "%%ksql\nUNSET 'auto.offset.reset';")
