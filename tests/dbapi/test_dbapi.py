"""PEP 249 over a session whose engine is a table of answers: what is run, what comes back, and which errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from ksqlpy import dbapi
from ksqlpy.errors import EngineProblem, EnvironmentProblem, KsqlError, Span, SyntaxProblem
from ksqlpy.session.inbox import Given, Opened
from ksqlpy.session.rows import Column
from ksqlpy.session.session import Session
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
)

COLUMNS = (Column("ZONE", STRING), Column("N", BIGINT), Column("FARES", DecimalType(8, 2)), Column("AT", TIMESTAMP))
ROWS = [["Queens", 2, Decimal("3.50"), 0], ["Bronx", 1, None, None], ["Zürich", 3, None, None]]


class Answers:
    """A transport that notes what it is asked, and fails as it is told."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failure: KsqlError | None = None
        self.closed = False

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]:
        self._note(sql)
        return [{"@type": "streams", "streams": []}] if sql.startswith("SHOW") else []

    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened:
        self._note(sql)
        return Given("q", COLUMNS, ROWS)

    def insert(self, target: str, lines: Iterable[bytes]) -> int:
        raise AssertionError("not asked for here")

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        raise AssertionError("not asked for here")

    def close(self) -> None:
        self.closed = True

    def _note(self, sql: str) -> None:
        self.asked.append(sql)
        if self.failure is not None:
            self.failure.sql = sql
            raise self.failure


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def cursor(answers: Answers) -> Iterator[dbapi.Cursor]:
    with Session(answers, "a test") as session, dbapi.connect(session=session) as connection:
        yield connection.cursor()


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "named")
    errors = [v for v in vars(dbapi).values() if isinstance(v, type) and issubclass(v, (dbapi.Error, dbapi.Warning))]
    tree = {e.__name__: e.__mro__[1].__name__ for e in errors}
    assert (
        tree.items()
        >= {
            "Warning": "Exception",
            "Error": "Exception",
            "InterfaceError": "Error",
            "DatabaseError": "Error",
            **dict.fromkeys(("DataError", "OperationalError", "IntegrityError", "InternalError"), "DatabaseError"),
            **dict.fromkeys(("ProgrammingError", "NotSupportedError"), "DatabaseError"),
        }.items()
    )
    assert all(getattr(dbapi.Connection, e.__name__) is e for e in errors)
    assert dbapi.Binary(b"x") == b"x" and dbapi.Date(2024, 5, 6) == date(2024, 5, 6)
    assert dbapi.TimestampFromTicks(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert (dbapi.DateFromTicks(86_400 * 365).year, dbapi.TimeFromTicks(61).second) in {(1970, 1), (1971, 1)}


def test_rows_are_fetched(cursor: dbapi.Cursor, answers: Answers) -> None:
    found = cursor.execute("SELECT * FROM n WHERE zone = :zone AND n > :n", {"zone": "it's", "n": Decimal("0.5")})
    assert found is cursor
    assert answers.asked == ["SELECT * FROM n WHERE zone = 'it''s' AND n > 0.5\n;"]
    assert cursor.description == [
        ("ZONE", "STRING", None, None, None, None, None),
        ("N", "BIGINT", None, None, None, None, None),
        ("FARES", "DECIMAL", None, None, 8, 2, None),
        ("AT", "TIMESTAMP", None, None, None, None, None),
    ]
    assert (cursor.rowcount, cursor.rownumber) == (-1, 0)
    assert cursor.fetchone() == ("Queens", 2, Decimal("3.50"), datetime(1970, 1, 1, tzinfo=UTC))
    cursor.arraysize = 5
    assert [row.zone for row in cursor.fetchmany()] == ["Bronx", "Zürich"]
    assert cursor.rownumber == 3
    assert (cursor.fetchone(), cursor.fetchmany(2), cursor.fetchall(), [*cursor]) == (None, [], [], [])
    assert [row[1] for row in cursor.execute("SELECT * FROM n;")] == [2, 1, 3]


def test_type_codes() -> None:
    codes = {
        STRING: dbapi.STRING, BYTES: dbapi.BINARY, BOOLEAN: dbapi.BOOLEAN, INTEGER: dbapi.NUMBER, BIGINT: dbapi.NUMBER,
        DOUBLE: dbapi.NUMBER, DecimalType(4, 2): dbapi.NUMBER, DATE: dbapi.DATETIME, TIME: dbapi.DATETIME,
        TIMESTAMP: dbapi.DATETIME, ArrayType(STRING): dbapi.NESTED, MapType(STRING, STRING): dbapi.NESTED,
        StructType(()): dbapi.NESTED,
    }  # fmt: skip
    kinds = (dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.BOOLEAN, dbapi.NESTED, dbapi.ROWID)
    for type_, expected in codes.items():
        assert [kind for kind in kinds if type_.base == kind] == [expected]


def test_statements(cursor: dbapi.Cursor, answers: Answers) -> None:
    cursor.execute("-- what there is\nSHOW STREAMS;")
    assert (cursor.description, cursor.rowcount) == (None, -1)
    answers.asked.clear()
    cursor.execute("SHOW STREAMS;")
    assert [a.kind for a in cursor.answers] == ["streams"]
    cursor.execute("INSERT INTO rides (zone) VALUES (:zone)", {"zone": "Queens"})
    assert (cursor.rowcount, cursor.answers) == (1, [])
    cursor.executemany("INSERT INTO rides (zone) VALUES (:zone);", [{"zone": z} for z in "ab"])
    assert cursor.rowcount == 2
    assert answers.asked[1:] == [
        "INSERT INTO rides (zone) VALUES ('Queens')\n;",
        "INSERT INTO rides (zone) VALUES ('a');",
        "INSERT INTO rides (zone) VALUES ('b');",
    ]
    with pytest.raises(dbapi.InterfaceError, match="no query"):
        cursor.fetchall()
    with pytest.raises(dbapi.ProgrammingError, match="run by execute"):
        cursor.executemany("/* all */ select 1 from s;", [{}])


def test_a_value_is_no_variable(cursor: dbapi.Cursor) -> None:
    cursor.execute("INSERT INTO rides VALUES (:zone);", {"zone": "${a}"})
    cursor.connection.session.variables["A"] = "Queens"
    with pytest.raises(dbapi.NotSupportedError, match="cannot be told from the variables"):
        cursor.execute("INSERT INTO rides VALUES (:zone);", {"zone": "${a}"})


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (EnvironmentProblem("server-unavailable", "no server answers"), dbapi.OperationalError),
        (EngineProblem("query-failed", "it failed"), dbapi.OperationalError),
        (EngineProblem("internal", "a fault"), dbapi.InternalError),
        (EngineProblem("date-out-of-range", "too late"), dbapi.DataError),
        (SyntaxProblem("syntax-error", "expected FROM"), dbapi.ProgrammingError),
        (KsqlError("session-closed", "the session is closed"), dbapi.InterfaceError),
    ],
)
def test_errors(failure: KsqlError, kind: type[dbapi.Error], cursor: dbapi.Cursor, answers: Answers) -> None:
    answers.failure = failure
    for statement in ("SELECT 1 FROM s;", "DROP STREAM s;"):
        with pytest.raises(dbapi.Error, match=failure.message) as caught:
            cursor.execute(statement)
        assert type(caught.value) is kind
        assert (caught.value.code, caught.value.__cause__) == (failure.code, failure)


def test_places_in_errors_are_of_what_was_written(cursor: dbapi.Cursor, answers: Answers) -> None:
    answers.failure = SyntaxProblem("syntax-error", "expected a name", span=Span(28, 33))
    with pytest.raises(dbapi.ProgrammingError) as caught:
        cursor.execute("SELECT *\nFROM s WHERE a = :a and", {"a": "long text"})
    assert str(caught.value).startswith("line 2:18: expected a name")
    with pytest.raises(dbapi.ProgrammingError, match="line 1:8: the parameter :x has no value"):
        cursor.execute("SELECT :x FROM s;")
    with pytest.raises(dbapi.DataError, match="the value of :x is of the type"):
        cursor.execute("SELECT :x FROM s;", {"x": object()})


def test_what_is_closed(answers: Answers) -> None:
    session = Session(answers, "a test")
    connection = dbapi.connect(session=session)
    cursor = connection.cursor()
    connection.commit()
    with pytest.raises(dbapi.NotSupportedError, match="no transactions"):
        connection.rollback()
    with cursor as same:
        same.execute("SELECT * FROM n;")
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.fetchone()
    other = connection.cursor()
    connection.close()
    connection.close()
    for use in (connection.cursor, connection.commit, lambda: other.execute("SHOW STREAMS;")):
        with pytest.raises(dbapi.InterfaceError, match="the connection is closed"):
            use()
    assert not answers.closed  # it is its owner's
    session.close()
    assert answers.closed
    own = Answers()
    dbapi.Connection(Session(own, "a test"), own=True).close()
    assert own.closed


def test_connect(answers: Answers) -> None:
    with pytest.raises(dbapi.OperationalError, match="no server answers") as caught:
        dbapi.connect("http://127.0.0.1:1")
    assert caught.value.code == "server-unavailable"
    with pytest.raises(dbapi.ProgrammingError, match="is no URL of a server"):
        dbapi.connect("nowhere")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(dbapi.InterfaceError, match="or a session"):
            dbapi.connect("http://127.0.0.1:1", session=Session(answers, "a test"))
