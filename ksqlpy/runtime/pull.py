"""Pull queries: what a table or a stream holds now.

Rows of a table come out of its local copy: of the keys that WHERE says, or of all. Rows of a stream come from its
topic, from the first record to the last that is there when the query starts. Plain conditions and plain columns are
read in Python (:mod:`ksqlpy.reading`); everything else is a batch of Spark over the same records.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Message

from ksqlpy.access import Need, Principal, Right
from ksqlpy.analysis import typed as t
from ksqlpy.analysis.identity import identity_of
from ksqlpy.analysis.pull import PullRead, constant
from ksqlpy.atwork import step, working
from ksqlpy.connection import KafkaConnection
from ksqlpy.formats import Unreadable
from ksqlpy.plan import Plan
from ksqlpy.reading import Change, Held, Record, Rows, Unread, condition_of, folded, projection_of
from ksqlpy.reading.batch import Unshared
from ksqlpy.reading.bulk import bulk_of
from ksqlpy.reading.calls import Calls
from ksqlpy.reading.messages import raw_of, record_of
from ksqlpy.reading.pieces import Piece, Pieces, Reading
from ksqlpy.reading.pull import CONDITIONS, columns_of, used_by, varies
from ksqlpy.registry import SchemaRegistry
from ksqlpy.runtime.scans import in_bulk, one_by_one
from ksqlpy.runtime.scratch import Scratch
from ksqlpy.tables import Copy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Answer", "Answering", "PullQuery", "Pulled"]

log = logging.getLogger(__name__)

AT_ONCE = 20_000
"""Rows that Spark gets at once, without ORDER BY."""

IN_PYTHON = 5_000
"""Records of a stream up to which it is read in Python; of more Spark makes quicker work."""

Offsets = dict[str, dict[str, int]]
Answer = Generator[list[Any], None, None]
"""The rows of an answer; who closes it lets go of what it holds."""

_Row = Mapping[str, Any]
_Plainly = tuple[Rows, Callable[[_Row], bool] | None, Callable[[_Row], list[Any]]]
"""How rows are made in Python: what reads records, a condition, and what makes columns."""


class _NotWanted(Exception):
    """The query was closed while it ran."""


@dataclass(frozen=True)
class Answering:
    """A checked pull query with the plan of its rows, in which a table is read as records of a stream.

    ``wait``: for how many seconds it waits at most for its inputs, see ``ksqlpy.pull.wait.ms``. ``committed``: whether
    it reads committed records only, see ``isolation.level``. ``largest_record``: see ``ksqlpy.record.max.bytes``.
    ``principal``: who asks, None where there is no login.
    """

    statement: str
    read: PullRead
    plan: Plan
    wait: float = 0.0
    committed: bool = True
    largest_record: int = 2**62
    principal: Principal | None = None

    @property
    def needs(self) -> list[Need]:
        """The rights that it needs as long as it is open."""
        return Need.on(Right.SELECT, *(s.name for s in self.read.typed.sources))

    @property
    def used(self) -> set[str]:
        """The internal names of the columns that it needs."""
        return used_by(self.read)


class PullQuery(Unshared):
    """A pull query that is being answered; its rows are read once."""

    plain = False
    """Its rows are values of columns, not lines of text."""

    def __init__(
        self,
        query_id: str,
        answering: Answering,
        rows: Answer,
        closing: threading.Event,
        ended: Callable[[], None],
        behind: Mapping[str, int | None],
        pieces: Generator[Piece | None, None, None] | None = None,
    ) -> None:
        """``closing``: set when it is closed; ``ended``: called once, when all rows are read or it is closed.

        ``pieces``: the records, where they may be read instead of ``rows``.
        """
        read = answering.read
        self._ended = [ended]
        self.id = query_id
        self.asked = answering
        self.columns = columns_of(read)
        self.behind = behind
        """How many records queries have still to read of which it reads the results, see ``runtime/behind.py``."""
        self.limit_reached = False
        self.stream = read.source.kind == "STREAM"
        """Whether it reads a stream, whose answer says at its end how it ended."""
        self._limit = read.typed.limit
        self._rows = rows
        self._pieces = pieces
        self._closing = closing

    def rows(self) -> Iterator[list[Any] | None]:
        """The rows as JSON values in the order of ``columns``; fractions are Decimals.

        Raises KsqlError, also what it was ended for.
        """
        sent = 0
        self.limit_reached = self._limit == 0
        with contextlib.closing(self), contextlib.closing(self._rows):
            while not self.limit_reached and not self._closing.is_set():
                row = next(self._rows, None)
                if row is None:
                    break
                yield row
                sent += 1
                self.limit_reached = sent == self._limit
        self.check_ended()

    def pieces(self) -> Pieces | None:
        """See :class:`Unshared`."""
        return None if self._pieces is None else Pieces(self._limit, self._wanted(self._pieces))

    def _wanted(self, pieces: Generator[Piece | None, None, None]) -> Generator[Piece | None, None, None]:
        with contextlib.closing(self), contextlib.closing(pieces):
            for piece in pieces:
                if self._closing.is_set():
                    break
                yield piece
        self.check_ended()

    def close(self) -> None:
        """Ends it; closing twice does nothing."""
        self._closing.set()
        with contextlib.suppress(IndexError):
            self._ended.pop()()


class Pulled:
    """Finds the rows of pull queries.

    ``session``: gives Spark's session when it is needed; ``shared``: see :class:`ksqlpy.runtime.scratch.Scratch`;
    ``calls``: functions in Python.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        connection: Callable[[], KafkaConnection],
        registry: SchemaRegistry | None,
        shared: Callable[[], str | None],
        calls: Calls,
    ) -> None:
        self._calls = calls
        self._registry = registry
        self._session = session
        self._connection = connection
        self._known: dict[t.Expr, Any] = {}
        self._scratch = Scratch(session, shared)

    def close(self) -> None:
        """Removes the folders of its runs."""
        self._scratch.close()

    # ---------------------------------------------------------------- of a table

    def of_table(self, asked: Answering, copy: Copy, closing: threading.Event) -> Answer:
        """The rows of a pull query on a table. ``closing``: set when nobody wants them any more."""
        read = asked.read
        constants = self._constants(read)
        if read.access == "LOOKUP":
            records = self._looked_up(read, copy, constants)
        elif read.access == "RANGE":
            low, high = (None if e is None else _value(e, constants) for e in read.bounds)
            records = copy.between(low, high)
        else:
            records = copy.all()
        return self._rows(asked, records, constants, closing)

    def _looked_up(self, read: PullRead, copy: Copy, constants: Mapping[t.Expr, Any]) -> Iterator[Record]:
        seen: set[bytes] = set()
        for wanted in read.keys:
            values = [_value(e, constants) for e in wanted]
            key = None if any(v is None for v in values) else copy.key(values)
            if key is not None and key not in seen:
                seen.add(key)
                yield from copy.of_key(key)

    # ---------------------------------------------------------------- of a stream

    def of_stream(
        self,
        asked: Answering,
        start: Mapping[str, int],
        end: Mapping[str, int],
        consumer: Callable[[], Consumer],
        closing: threading.Event,
    ) -> Answer:
        """The rows of a pull query on a stream, between offsets of its partitions. ``closing`` as above."""
        constants = self._constants(asked.read)
        topic = asked.read.source.topic
        count = sum(end[p] - start[p] for p in start)
        limit, where = asked.read.typed.limit, asked.read.typed.where
        few = count <= IN_PYTHON or (limit is not None and limit <= IN_PYTHON and where is None)
        if few and self._plainly(asked, constants) is not None:
            most = IN_PYTHON if limit is None or where is not None else max(1, limit)
            return self._rows(asked, one_by_one(topic, start, end, consumer, closing, most), constants, closing)
        return self._by_spark(asked, start={topic: dict(start)}, end={topic: dict(end)})

    def in_bulk(
        self,
        asked: Answering,
        start: Mapping[str, int],
        end: Mapping[str, int],
        consumer: Callable[[], Consumer],
        closing: threading.Event,
    ) -> Generator[Piece | None, None, None] | None:
        """The records of a large stream of which each one is a row; None where :meth:`of_stream` does better."""
        typed = asked.read.typed
        if sum(end[p] - start[p] for p in start) <= IN_PYTHON or (typed.limit is not None and typed.limit <= IN_PYTHON):
            return None
        bulk = bulk_of(typed.relations[0], typed.outputs) if typed.where is None else None
        plainly = self._plainly(asked, {}) if bulk is not None else None
        if bulk is None or plainly is None:
            return None
        how = plainly

        def rows(messages: Sequence[Message]) -> list[list[Any]]:
            wanted = threading.Event()  # also when the query has ended, as it has when the last piece is given
            return [*self._made(asked, map(record_of, messages), how, wanted)]

        reading = Reading(rows, raw_of, bulk)
        found = in_bulk(asked.read.source.topic, start, end, consumer, closing)
        return (Piece(messages, reading) for messages in found)

    # ---------------------------------------------------------------- of more than one source, or of groups

    def of_history(self, asked: Answering, start: Offsets, end: Offsets, closing: threading.Event) -> Answer:
        """The rows that a push query would have given up to now; of a table what it holds then.

        ``closing``: set when nobody wants them any more.
        """
        from ksqlpy.spark.bounded import Inputs, Run  # slow to import

        typed = asked.read.typed
        names = [o.name for o in typed.outputs]
        table = typed.kind == "TABLE"
        held, rows = Held[str](), list[str]()

        def take(change: Change[str] | Unread) -> None:
            if closing.is_set():
                raise _NotWanted
            if isinstance(change, Change) and table:
                held.take(change)
            elif isinstance(change, Change) and change.columns is not None:
                rows.append(change.columns)

        with self._scratch.folder() as folder:
            identity = identity_of(typed) if table else ()
            inputs = Inputs(
                self._connection(), start, end, registry=self._registry,
                committed=asked.committed, largest_record=asked.largest_record,
            )  # fmt: skip
            run = Run(self._session(), asked.plan, identity, inputs, folder)
            with contextlib.suppress(_NotWanted):
                run.changes(take, follow=False, timeout=None, wanted=lambda: not closing.is_set())
        for text in held.rows if table else rows:
            row = json.loads(text, parse_float=Decimal)
            yield [row[n] for n in names]

    # ---------------------------------------------------------------- rows

    def _plainly(self, asked: Answering, constants: Mapping[t.Expr, Any]) -> _Plainly | None:
        """How the rows are made in Python; None where Spark makes them."""
        typed = asked.read.typed
        rows = Rows(typed.relations[0], asked.used, self._registry)
        project = projection_of(typed.outputs, self._calls)
        where = None if asked.read.exact else typed.where
        condition = condition_of(where, constants, self._calls) if where is not None else None
        if project is None or typed.order or not rows.readable or (where is not None and condition is None):
            return None
        return rows, condition, project

    def _rows(
        self,
        asked: Answering,
        records: Iterator[Record],
        constants: Mapping[t.Expr, Any],
        closing: threading.Event,
    ) -> Answer:
        plainly = self._plainly(asked, constants)
        if plainly is None:
            size = None if asked.read.typed.order else AT_ONCE
            while not closing.is_set() and (chunk := list(itertools.islice(records, size))):
                yield from self._by_spark(asked, given={asked.read.source.topic: chunk})
            return
        with working():
            yield from self._made(asked, records, plainly, closing)

    def _made(
        self, asked: Answering, records: Iterator[Record], plainly: _Plainly, closing: threading.Event
    ) -> Iterator[list[Any]]:
        rows, condition, project = plainly
        unread = 0
        for record in records:
            if closing.is_set():  # there may be no row in all of them
                return
            step()
            try:
                row = rows.row(record)
            except Unreadable as e:
                unread += 1
                if unread == 1:
                    log.warning("a record of %s cannot be read: %s", asked.read.source.topic, e)
                continue
            if row is not None and (condition is None or condition(row)):
                yield project(row)

    def _by_spark(
        self,
        asked: Answering,
        *,
        start: Offsets | None = None,
        end: Offsets | None = None,
        given: Mapping[str, Sequence[Record]] | None = None,
    ) -> Answer:
        from ksqlpy.spark.bounded import Inputs, Run  # slow to import

        typed = asked.read.typed
        names = [o.name for o in typed.outputs]
        inputs = Inputs(
            self._connection(), start or {}, end or {}, given=given or {}, registry=self._registry,
            committed=asked.committed, largest_record=asked.largest_record,
        )  # fmt: skip
        with self._scratch.folder() as folder:
            run = Run(self._session(), asked.plan, (), inputs, folder, typed.order)
            for change in run.batch(typed.limit):
                if isinstance(change, Change) and change.columns is not None:
                    row = json.loads(change.columns, parse_float=Decimal)
                    yield [row[n] for n in names]

    # ---------------------------------------------------------------- constants

    def _constants(self, read: PullRead) -> Mapping[t.Expr, Any]:
        """The values of constant expressions that are more than literals; each is computed once."""
        wanted: list[t.Expr] = []

        def look(e: t.Expr) -> t.Expr | None:
            if isinstance(e, CONDITIONS) or not constant(e):
                return None
            if folded(e) is None and not varies(e):
                wanted.append(e)
            return e

        for expr in (*itertools.chain(*read.keys), *((read.typed.where,) if read.typed.where is not None else ())):
            t.rewrite(expr, look)
        missing = [e for e in dict.fromkeys(wanted) if e not in self._known]
        if missing:
            from ksqlpy.spark.evaluate import values_of

            if len(self._known) > 1000:
                self._known = {}
            self._known = {**self._known, **dict(zip(missing, values_of(self._session(), missing), strict=True))}
        return self._known if wanted else {}


def _value(expr: t.Expr, constants: Mapping[t.Expr, Any]) -> Any:
    return constants[expr] if expr in constants else (folded(expr) or (None,))[0]
