"""What a test says: these statements, these records given, then these rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Self

from ksqlpy.analysis.inserts import streamed_name
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem, KsqlError, similar_names
from ksqlpy.pytest_plugin.difference import difference
from ksqlpy.pytest_plugin.rows import TIME_OF_ROW, Deleted, Reader, Writer, columns_of, expected, named
from ksqlpy.pytest_plugin.stage import Stage
from ksqlpy.session.answers import Answer
from ksqlpy.testing.check import CaseFailed
from ksqlpy.types import BIGINT, SqlType

__all__ = ["Scenario"]


class Scenario:
    """Statements, records and what comes of them; the fixtures ``ksql`` and ``ksql_kafka``.

    A refused statement raises KsqlError, with its drawing as a note. Queries read their topics from the first record.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._writer = Writer()
        self._shown: dict[str, set[tuple[int, int]]] = {}

    def sql(self, text: str, **variables: object) -> list[Answer]:
        """Runs statements; ``variables``: values of ``${name}``. Raises KsqlError."""
        __tracebackhide__ = True
        try:
            return [Answer(a) for a in self._stage.run(text, {n: _text(v) for n, v in variables.items()})]
        except KsqlError as e:
            raise _alone(e) from None

    def given(self, source: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Writes rows into the topic of a stream or table: mappings of columns and values; what is not named is null.

        A row may say its ``ROWTIME``, in ms since 1970 or as a datetime. One that does not has that of the row before
        it, the first one 1 ms after 1970. :meth:`deleted` makes the row that deletes one of a table. Raises KsqlError.
        """
        __tracebackhide__ = True
        try:
            found = self._stage.engine.catalog_service.written(self._source(source))
            records = self._writer.records(found, rows)
        except KsqlError as e:
            raise _alone(e) from None
        self._stage.write(records)
        return self

    def when(self, text: str, **variables: object) -> Self:
        """As :meth:`sql`, for the statement that the test is of."""
        __tracebackhide__ = True
        self.sql(text, **variables)
        return self

    def then(self, source: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Lets all queries come to their end, and compares the rows that have come since the last look at the source.

        All of them are compared, in their order; where a topic has several partitions, in the order of each key. A
        column that no row names is not compared; one that only some name is null in the others. Raises AssertionError
        with the difference.
        """
        __tracebackhide__ = True
        try:
            found = self._source(source)
            types = {**columns_of(found), TIME_OF_ROW: BIGINT}
            wanted = [_typed(named(row, found), types) for row in rows]
        except KsqlError as e:
            raise _alone(e) from None
        came = self._come(found)
        if not self._stage.ordered(found.topic):
            keys = [c.name for c in found.keys]
            came, wanted = ([*sorted(r, key=lambda row: repr([row.get(k) for k in keys]))] for r in (came, wanted))
        said = difference(wanted, came)
        if said is not None:
            lines = [f"{found.name} has other rows (- expected, + there)", *said]
            lines += [f"dead letter: {d.topic} {d.offset}: {d.reason}" for d in self._stage.dead_letters()]
            raise AssertionError("\n".join(lines))
        return self

    def rows(self, source: str) -> list[dict[str, Any]]:
        """All rows of a stream or table, by the names of their columns, when all queries have come to their end.

        Of a table also those that were replaced later; a row that was deleted is one of :meth:`deleted`.
        """
        __tracebackhide__ = True
        try:
            found = self._source(source)
        except KsqlError as e:
            raise _alone(e) from None
        return [_without_time(row) for row in self._all(found).values()]

    @property
    def dead_letters(self) -> list[str]:
        """What queries could not read or write: topic, offset and reason."""
        self._settle()
        return [f"{d.topic} {d.offset}: {d.reason}" for d in self._stage.dead_letters()]

    @staticmethod
    def deleted(**key: Any) -> Deleted:
        """A row of a table that is deleted, by its key columns; for :meth:`given` and :meth:`then`."""
        return Deleted(key)

    # ------------------------------------------------------------ rows

    def _source(self, name: str) -> Source:
        sources = self._stage.engine.catalog.sources
        exact = streamed_name(name)
        found = sources.get(exact) or sources.get(name)
        if found is None:
            message = f"there is no stream or table {name}"
            raise AnalysisProblem("unknown-source", message, similar=similar_names(exact, sources))
        return found

    def _settle(self) -> None:
        __tracebackhide__ = True
        try:
            self._stage.settle()
        except CaseFailed as e:
            raise AssertionError(str(e)) from e.__cause__

    def _all(self, source: Source) -> dict[tuple[int, int], dict[str, Any]]:
        __tracebackhide__ = True
        self._settle()
        reader = Reader(source, self._stage.engine.brokers.registry)
        return {place: reader.row(record) for place, record in self._stage.records(source.topic).items()}

    def _come(self, source: Source) -> list[dict[str, Any]]:
        """The rows that no look has shown."""
        __tracebackhide__ = True
        rows = self._all(source)
        shown = self._shown.get(source.topic, set())
        self._shown[source.topic] = {*rows}
        return [row for place, row in rows.items() if place not in shown]


def _alone(refusal: KsqlError) -> KsqlError:
    """The refusal with its drawing, and without the way through the engine: the test ends where it stands."""
    if refusal.sql is not None:
        refusal.add_note(refusal.render())
    elif refusal.full_hint:
        refusal.add_note(f"hint: {refusal.full_hint}")
    return refusal.with_traceback(None)


def _typed(row: dict[str, Any], types: Mapping[str, SqlType]) -> dict[str, Any]:
    for name in row:
        row[name] = expected(row[name], types[name])
    return row


def _without_time(row: dict[str, Any]) -> dict[str, Any]:
    row.pop(TIME_OF_ROW, None)
    return row


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:f}" if isinstance(value, Decimal) else str(value)
