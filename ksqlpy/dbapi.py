"""Python's database interface (PEP 249) over a session, for programs that know databases by it.

    import ksqlpy.dbapi

    with ksqlpy.dbapi.connect("http://127.0.0.1:8088") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT zone, n FROM rides_by_zone WHERE zone = :zone;", {"zone": "Queens"})
        print(cursor.fetchall())

There are no transactions: each statement is done when ``execute`` returns, and there is nothing to roll back. A push
query is read row by row, and ends when its cursor is closed or runs something else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date as Date
from datetime import datetime as Timestamp
from datetime import time as Time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ksqlpy.errors import ConfigProblem, EnvironmentProblem, KsqlError, StatementError
from ksqlpy.types import DecimalType, SqlType

if TYPE_CHECKING:
    from ksqlpy.session.answers import Answer
    from ksqlpy.session.result import Result
    from ksqlpy.session.rows import Row
    from ksqlpy.session.session import Session

__all__ = [
    "BINARY",
    "BOOLEAN",
    "DATETIME",
    "NESTED",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 2
"""Threads may share the module and connections, but not cursors."""
paramstyle = "named"


# ---------------------------------------------------------------- errors


class Warning(Exception):
    """Of PEP 249; never raised."""


class Error(Exception):
    """Base of all errors. ``code``: the slug of the KsqlError that it was raised for, which is its cause."""

    code: str | None = None


class InterfaceError(Error):
    """The interface is used wrongly: what is closed, no query to fetch from."""


class DatabaseError(Error):
    """Base of the errors of statements and servers."""


class DataError(DatabaseError):
    """A value cannot be what it shall be."""


class OperationalError(DatabaseError):
    """The server cannot be reached, refuses to serve, or a query failed."""


class IntegrityError(DatabaseError):
    """Of PEP 249; never raised, since there are no constraints between tables."""


class InternalError(DatabaseError):
    """A fault of ksqlpy."""


class ProgrammingError(DatabaseError):
    """A statement is refused."""


class NotSupportedError(DatabaseError):
    """There are no transactions."""


_UNUSABLE = {"session-closed", "result-closed", "session-forked"}
_VALUES = {"unsupported-value", "date-out-of-range", "bad-row"}


@contextmanager
def _told() -> Generator[None, None, None]:
    """Raises PEP 249's errors for ours."""
    try:
        yield
    except KsqlError as e:
        kind: type[Error] = OperationalError
        if e.code in _UNUSABLE:
            kind = InterfaceError
        elif e.code in _VALUES:
            kind = DataError
        elif e.code == "internal":
            kind = InternalError
        elif isinstance(e, StatementError | ConfigProblem) and not isinstance(e, EnvironmentProblem):
            kind = ProgrammingError
        error = kind(e.summary())
        error.code = e.code
        raise error from e


# ---------------------------------------------------------------- types


class _Kind(frozenset[str]):
    """A type object: equal to the type codes of a column that it stands for."""

    def __eq__(self, other: object) -> bool:
        return other in self if isinstance(other, str) else frozenset.__eq__(self, other)

    def __hash__(self) -> int:
        return frozenset.__hash__(self)


STRING = _Kind({"STRING"})
BINARY = _Kind({"BYTES"})
NUMBER = _Kind({"INTEGER", "BIGINT", "DOUBLE", "DECIMAL"})
DATETIME = _Kind({"DATE", "TIME", "TIMESTAMP"})
BOOLEAN = _Kind({"BOOLEAN"})
NESTED = _Kind({"ARRAY", "MAP", "STRUCT"})
ROWID = _Kind()
"""No column has it."""

Binary = bytes


def DateFromTicks(ticks: float) -> Date:
    """The day of a number of seconds since 1970, here."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> Time:
    """The time of day of a number of seconds since 1970, here."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> Timestamp:
    """The moment of a number of seconds since 1970, with its zone."""
    return Timestamp.fromtimestamp(ticks).astimezone()


def _described(name: str, type_: SqlType) -> tuple[Any, ...]:
    """A column as PEP 249 describes it: name, type code, and precision and scale of a DECIMAL."""
    digits = (type_.precision, type_.scale) if isinstance(type_, DecimalType) else (None, None)
    return (name, type_.base, None, None, *digits, None)


# ---------------------------------------------------------------- connections


def connect(url: str | None = None, *, session: Session | None = None, **options: Any) -> Connection:
    """A connection with a server, or over a session that is there already, which it leaves open.

    ``options``: those of ``ksqlpy.connect``. Raises OperationalError, ProgrammingError.
    """
    if session is not None:
        if url is not None or options:
            raise InterfaceError("give a URL and its options, or a session")
        return Connection(session)
    from ksqlpy.session.remote import connect as connect_to

    with _told():
        return Connection(connect_to(*([] if url is None else [url]), **options), own=True)


class Connection:
    """A connection; as a context manager it is closed at the end."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, session: Session, *, own: bool = False) -> None:
        """``own``: whether the session is closed with it."""
        self.session = session
        self._own = own
        self._closed = False

    def cursor(self) -> Cursor:
        """A new cursor."""
        self.check()
        return Cursor(self)

    def commit(self) -> None:
        """There is nothing to do: each statement is done when ``execute`` returns."""
        self.check()

    def rollback(self) -> None:
        """Raises NotSupportedError."""
        self.check()
        raise NotSupportedError("there are no transactions, so nothing can be rolled back")

    def close(self) -> None:
        """Ends it; closing twice does nothing."""
        if not self._closed:
            self._closed = True
            if self._own:
                self.session.close()

    def check(self) -> None:
        """Raises InterfaceError where it is closed."""
        if self._closed:
            raise InterfaceError("the connection is closed")

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Cursor:
    """One statement after the other, and the rows of the last one if it is a query.

    ``description``: the columns of its rows, None where it has none. ``rowcount``: rows that INSERT … VALUES wrote,
    else -1: a query does not know how many rows are to come. ``answers``: what other statements answered.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self.rownumber: int | None = None
        self.answers: list[Answer] = []
        self._result: Result | None = None
        self._closed = False

    def execute(self, operation: str, parameters: Mapping[str, Any] | None = None) -> Cursor:
        """Runs a statement, whose semicolon may be missing; gives itself.

        ``parameters``: values of ``:name`` in it. Raises ProgrammingError, DataError, OperationalError.
        """
        self._check()
        self._reset()
        word = _first_word(operation)
        with _told():
            text = _bound(operation, parameters or {}, self.connection.session)
            if word in ("SELECT", "WITH", "("):
                self._result = text(self.connection.session.query)
                self.description = [_described(c.name, c.type) for c in self._result.columns]
                self.rownumber = 0
            else:
                self.answers = text(self.connection.session.sql)
                self.rowcount = 1 if word == "INSERT" and not self.answers else -1
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Mapping[str, Any]]) -> Cursor:
        """Runs a statement once for each of the parameters; raises ProgrammingError for a query."""
        self._check()
        if _first_word(operation) in ("SELECT", "WITH", "("):
            raise ProgrammingError("a query is run by execute")
        count = 0
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            count += max(self.rowcount, 0)
        self.rowcount = count
        return self

    def fetchone(self) -> Row | None:
        """The next row, for which it waits; None behind the last one."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """So many rows, by default ``arraysize``, for which it waits; fewer where no more come."""
        return self._fetched(lambda r: r.fetchmany(self.arraysize if size is None else size))

    def fetchall(self) -> list[Row]:
        """All rows that are left, at the end of the query: a push query needs a LIMIT."""
        return self._fetched(lambda r: r.fetchall())

    def _fetched(self, fetch: Callable[[Result], list[Row]]) -> list[Row]:
        self._check()
        if self._result is None:
            raise InterfaceError("there is no query whose rows could be fetched")
        with _told():
            rows = fetch(self._result)
        self.rownumber = (self.rownumber or 0) + len(rows)
        return rows

    def __iter__(self) -> Iterator[Row]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Of PEP 249; sizes need not be known."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Of PEP 249; sizes need not be known."""

    def close(self) -> None:
        """Ends its query; closing twice does nothing."""
        self._reset()
        self._closed = True

    def _reset(self) -> None:
        if self._result is not None:
            self._result.close()
        self._result = self.description = self.rownumber = None
        self.rowcount, self.answers = -1, []

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection.check()

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _first_word(operation: str) -> str:
    """The word by which a statement begins, in upper case; empty for what is none."""
    from ksqlpy.session.binding import first_word

    return first_word(operation)


def _bound(operation: str, parameters: Mapping[str, Any], session: Session) -> Callable[[Callable[[str], Any]], Any]:
    """What has the statement run, with literals for its parameters; places in errors are of what was written."""
    from ksqlpy.session.binding import bind

    bound = bind(operation, parameters)
    if session.variables and "${" in bound.text and "${" not in operation:
        raise NotSupportedError("a value with ${…} in it cannot be told from the variables of the session")
    text = bound.text.rstrip()
    text = text if text.endswith(";") else f"{text}\n;"

    def run(ask: Callable[[str], Any]) -> Any:
        try:
            return ask(text)
        except KsqlError as e:
            if e.sql == text:
                e.sql = bound.text
            raise bound.placed(e) from None

    return run
