"""A session: statements, queries and rows, with an engine in this process or with a server alike."""

from __future__ import annotations

import os
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar

from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.session.answers import Answer
from ksqlpy.session.inbox import Given, Opened
from ksqlpy.session.misuse import forked, session_closed
from ksqlpy.session.outgoing import lines
from ksqlpy.session.persistent import Query
from ksqlpy.session.result import Result
from ksqlpy.session.rows import Row
from ksqlpy.session.subscribed import Source
from ksqlpy.session.subscriptions import Subscription, checked, handled, stop_all
from ksqlpy.session.tables import Table, described, exact_name

__all__ = ["Session", "Transport"]

T = TypeVar("T")

_PARAMETER = re.compile(r":[A-Za-z_]")
_OF_SESSION = re.compile(r"\b(?:UN)?(?:SET|DEFINE)\b", re.IGNORECASE)


class Transport(Protocol):
    """The way to an engine. All may be called from any thread, and raise KsqlError.

    ``closed``: whether :meth:`close` has done its work.
    """

    closed: bool

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]:
        """Runs statements; gives an entity for each that has an answer."""
        ...

    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened:
        """Starts a query."""
        ...

    def insert(self, target: str, lines: Iterable[bytes]) -> int:
        """Writes rows, each a line of JSON, into a stream or table; gives how many the brokers have."""
        ...

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        """The first ``rows`` rows of a subscription's query are done; writes rows into a target with that."""
        ...

    def close(self) -> None:
        """Gives back all that it holds; what is open ends."""
        ...


class Session:
    """Statements, queries and rows; a context manager, which closes it. All may be called from any thread.

    ``properties``: of its statements and queries, as SET and UNSET in a text of :meth:`sql` change them, too.
    ``variables``: values of ``${name}`` in texts, as DEFINE and UNDEFINE change them.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        """``name``: what a warning calls it."""
        self.properties: dict[str, object] = {}
        self.variables: dict[str, str] = {}
        self._name = name
        self._pid = os.getpid()
        self._transport = transport
        self._results: weakref.WeakSet[Result] = weakref.WeakSet()
        self._subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._keeping = threading.Lock()
        self._closing = False
        self._ending = threading.Lock()
        self._forgotten = weakref.finalize(self, _end_forgotten, transport, self._subscriptions, name, self._pid)

    # ------------------------------------------------------------ statements and queries

    def sql(self, text: str, /, **variables: object) -> list[Answer]:
        """Runs the statements of a text, each with its semicolon; gives an answer for each that has one.

        ``variables``: values of ``${name}`` in this text. Raises KsqlError; on it ``entities`` has the answers to the
        statements that were done before.
        """
        transport = self._there()
        given = {**self.variables, **{n: _text(n, v) for n, v in variables.items()}}
        answers = transport.run(text, self.properties, given)
        if _OF_SESSION.search(text):
            self._keep(text, given)
        return [Answer(a) for a in answers]

    def _keep(self, text: str, variables: Mapping[str, str]) -> None:
        """Keeps what SET and DEFINE of a text say, for what comes behind it."""
        from ksqlpy.sql import nodes, parse

        try:
            statements = parse(text, variables)
        except KsqlError:  # of a server with another language, which has taken it
            return
        for node in (s.node for s in statements):
            if isinstance(node, nodes.SetProperty):
                self.properties[node.this.this] = node.expression.this
            elif isinstance(node, nodes.UnsetProperty):
                self.properties.pop(node.this.this, None)
            elif isinstance(node, nodes.Define | nodes.Undefine):
                for name in [n for n in self.variables if n.upper() == node.this.this.upper()]:
                    del self.variables[name]
                if isinstance(node, nodes.Define):
                    self.variables[node.this.this] = node.expression.this

    def query(self, text: str, /, *, properties: Mapping[str, object] | None = None, **values: object) -> Result:
        """Starts a SELECT, whose semicolon may be missing; the caller reads its rows and closes it.

        With EMIT CHANGES it is a push query, whose rows come as they happen; else a pull query, which ends by itself.
        ``properties``: of this query, beside those of the session. ``values``: of the parameters ``:name`` in the text,
        where they become literals. Raises KsqlError.
        """
        transport = self._there()
        text, given = _ended(text), {**self.properties, **(properties or {})} if properties else self.properties
        if not values and not _PARAMETER.search(text):
            return self._kept(transport.open(text, given, self.variables))
        from ksqlpy.session.binding import bind

        # Variables are texts of the program, values are not: what a value holds is never taken for a variable.
        bound = bind(_replaced(text, self.variables), values)
        try:
            return self._kept(transport.open(bound.text, given, {}))
        except KsqlError as e:
            bound.placed(e)
            raise

    def _kept(self, opened: Opened) -> Result:
        result = Result(opened)
        if not isinstance(opened, Given):
            with self._keeping:
                self._results.add(result)
            if self._closing:  # meanwhile, and it may not have seen this one
                result.close()
                raise session_closed()
        return result

    def insert(self, source: str, rows: Iterable[object] | object) -> int:
        """Writes rows into a stream or table; gives their number when the brokers have acknowledged all of them.

        ``rows``: mappings of columns and their values, rows of a result, named tuples, dataclasses, or a data frame of
        pandas, Polars or whatever gives Arrow's streams. A column that is not named is null; ROWTIME is the time of the
        record: a datetime (in UTC without a zone), a text of a TIMESTAMP, or ms since 1970. Each row is written at
        least once. Raises RowProblem for the first row that is not written: those before it are, and ``inserted`` is
        their number; and KsqlError.
        """
        return self._there().insert(source, lines(rows))

    def subscribe(
        self,
        text: str,
        /,
        *,
        name: str,
        to: str | None = None,
        on_error: Literal["stop", "skip", "retry"] = "stop",
        properties: Mapping[str, object] | None = None,
        **values: object,
    ) -> Callable[[Callable[[Row], object]], Subscription]:
        """Has the decorated function called for each row of a SELECT … EMIT CHANGES, by a thread, from now on.

        ``name``: after a restart the subscription of this name goes on behind the last row that was acknowledged, as it
        is when the function has returned. A new one begins where ``auto.offset.reset`` says. ``to``: a stream or table,
        into which the rows are written that the function returns or yields. ``on_error``: what an exception of the
        function does: "stop" ends the subscription ahead of the row, "skip" logs it and goes on behind the row, "retry"
        calls the function with the row again, after pauses of up to 5 seconds.
        ``properties``, ``values``: see :meth:`query`. Raises KsqlError.
        """
        way = checked(name, on_error)
        source = self._source(text, name, properties, values)

        def start(function: Callable[[Row], object]) -> Subscription:
            return self._keep_running(Subscription(source, function, handled(function), name, to, way))

        return start

    def _source(
        self, text: str, name: str, properties: Mapping[str, object] | None, values: Mapping[str, object]
    ) -> Source:
        """Opens the query of a subscription."""
        transport = self._there()
        text, variables = _ended(text), self.variables
        if values or _PARAMETER.search(text):
            from ksqlpy.session.binding import bind

            text, variables = bind(_replaced(text, variables), values).text, {}
        return Source(transport, text, name, {**self.properties, **(properties or {})}, variables)

    def _keep_running(self, subscription: Subscription) -> Subscription:
        with self._keeping:
            self._subscriptions.add(subscription)
        if self._closing:  # meanwhile, and it may not have seen this one
            subscription.stop(0.0)
            raise session_closed()
        return subscription

    def register(self, function: T, *, name: str | None = None) -> T:
        """Makes a function of the program one of SQL, or replaces the one of this name; gives it back, as a decorator.

        It is a function with annotations, a generator (a table function), or a class (an aggregate), with the
        decorators ``ksqlpy.udf``, ``udtf`` and ``udaf`` or without. Worker processes run it: an installed one by its
        module, any other by its text, with what it names of its file. ``name``: in SQL. Raises KsqlError.
        """
        from ksqlpy.session.registering import statements

        transport = self._there()
        *others, last = statements(function, name)
        for text in others:
            try:
                transport.run(text, self.properties, {})
                return function
            except KsqlError as e:
                if e.code != "bad-function":  # where the workers have no such module
                    raise
        transport.run(last, self.properties, {})
        return function

    def table(self, name: str) -> Table:
        """A table by its name, which means what it means in SQL: upper case, or as it is in backquotes.

        Raises KsqlError where there is no such table.
        """
        [answer] = self.sql(f"DESCRIBE {exact_name(name)};")
        return Table(described(answer["sourceDescription"]), self._ask, self.query)

    def _ask(self, sql: str, properties: Mapping[str, object]) -> Opened:
        transport = self._there()
        return transport.open(sql, {**self.properties, **properties} if properties else self.properties, {})

    def queries(self) -> list[Query]:
        """The persistent queries."""
        [answer] = self.sql("SHOW QUERIES;")
        return [Query(self, str(q["id"])) for q in answer["queries"] if q.get("queryType") == "PERSISTENT"]

    def persistent(self, query_id: str) -> Query:
        """A persistent query by its id. Raises KsqlError ``unknown-query``."""
        return Query(self, query_id)

    # ------------------------------------------------------------ end

    def _there(self) -> Transport:
        if self._pid != os.getpid():
            raise forked(self._pid)
        if self._closing:
            raise session_closed()
        return self._transport

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closing

    def close(self) -> None:
        """Ends its queries and gives back all that it holds; closing twice does nothing.

        Persistent queries of an embedded engine end with it, and go on when it starts again with the same data.
        """
        if self._pid != os.getpid():
            return  # it is its parent's
        self._closing = True
        with self._ending:
            if not self._forgotten.alive:
                return
            try:
                with self._keeping:
                    results, subscriptions = tuple(self._results), tuple(self._subscriptions)
                stop_all(subscriptions)
                for result in results:
                    result.close()
                self._transport.close()
            finally:
                # Who is interrupted ahead of the end may call it again; else it ends with the program.
                if self._transport.closed:
                    self._forgotten.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ksqlpy.{type(self).__name__} {'(closed)' if self.closed else self._name}>"


def _ended(text: str) -> str:
    """A statement with its semicolon, also behind a comment."""
    text = text.rstrip()
    return text if text.endswith(";") else f"{text}\n;" if "--" in text else f"{text};"


def _replaced(text: str, variables: Mapping[str, str]) -> str:
    """The text with the values of its variables. Raises SyntaxProblem."""
    if "${" not in text:
        return text
    from ksqlpy.sql import substitute

    return substitute(text, variables).text


def _text(name: str, value: object) -> str:
    """The value of a variable as it stands in a text; raises ConfigProblem ``bad-variable``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float | Decimal):
        return str(value)
    hint = "variables are texts and numbers; for values of other types there is query(…, name=value)"
    raise ConfigProblem("bad-variable", f"variable {name} is a {type(value).__name__}", hint=hint)


def _end_forgotten(transport: Transport, subscriptions: weakref.WeakSet[Subscription], name: str, pid: int) -> None:
    if pid != os.getpid():
        return  # in a process that was forked; it is its parent's
    try:
        warnings.warn(f"the session with {name} was not closed", ResourceWarning, stacklevel=2)
    finally:
        for subscription in tuple(subscriptions):
            subscription.stop(0.0)
        transport.close()
