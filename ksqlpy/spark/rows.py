"""Rows between the operators of a running query: a DataFrame, and the typed shape of what it carries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ksqlpy.formats import text
from ksqlpy.spark.columns import Col, SeenOfGroup, SeenOfTable, StepCol, SystemColumn
from ksqlpy.spark.gateway import jvm_of, scala_frame

__all__ = ["RowShape", "Rows"]


@dataclass(frozen=True)
class RowShape:
    """What rows carry: ``columns`` are all their columns in order, the system columns among them.

    Which of them are system columns, and what they mean, was said where they were made, by their type.
    """

    columns: tuple[str, ...]

    def _has(self, column: Col) -> bool:
        return column in self.system

    @property
    def windowed(self) -> bool:
        """Whether rows were put into windows by this query."""
        return self._has(Col.WINDOW_CLOSE)

    @property
    def bounded(self) -> bool:
        """Whether rows have the start of a window, by this query or in the key of their source."""
        return self._has(Col.WINDOW_START)

    @property
    def numbered(self) -> bool:
        """Whether one record may have several rows, which are numbered."""
        return self._has(Col.ROW)

    @property
    def laned(self) -> bool:
        """Whether rows come to their group on lanes other than source partitions."""
        return self._has(Col.LANE)

    @property
    def lane(self) -> str:
        """The column that says on which way a row comes to its group in the order of its offsets."""
        return Col.LANE if self.laned else Col.PARTITION

    @property
    def seen_of_tables(self) -> tuple[str, ...]:
        """The columns that say what a row had seen of joined tables."""
        return tuple(c for c in self.columns if isinstance(c, SeenOfTable))

    @property
    def seen_of_group(self) -> tuple[str, ...]:
        """The columns that say what the row's group had seen of its lanes: first the group's hash."""
        return tuple(c for c in self.columns if isinstance(c, SeenOfGroup))

    @property
    def seen(self) -> tuple[str, ...]:
        """Both, in their order."""
        return tuple(c for c in self.columns if isinstance(c, SeenOfTable | SeenOfGroup))

    @property
    def progress(self) -> tuple[str, ...]:
        """The column that says what a task had taken, if a step of the JVM gave the rows."""
        return (Col.PROGRESS,) if self._has(Col.PROGRESS) else ()

    @property
    def headers(self) -> tuple[str, ...]:
        """The column of the record's headers, if they are passed on."""
        return (Col.HEADERS,) if self._has(Col.HEADERS) else ()

    @property
    def late(self) -> bool:
        """Whether rows carry the record as it came, since it may be late for its window."""
        return self._has(Col.CAME)

    @property
    def keyless(self) -> bool:
        """Whether rows say that their record had no key."""
        return self._has(Col.KEYLESS)

    @property
    def of_joined_tables(self) -> bool:
        """Whether rows are results of a key of joined tables, of which some leave the result as it is."""
        return self._has(Col.CHANGED)

    @property
    def counted(self) -> bool:
        """Whether the rows of a key are numbered."""
        return self._has(Col.SEQ)

    @property
    def sided(self) -> bool:
        """Whether rows of tables and of a stream are told apart, ahead of their join."""
        return self._has(Col.SIDE)

    @property
    def untimed(self) -> bool:
        """Whether rows say why they have no time for their result."""
        return self._has(Col.UNTIMED)

    @property
    def finished(self) -> bool:
        """Whether a branch of a union has finished rows already."""
        return self._has(Col.DONE)

    @property
    def system(self) -> tuple[str, ...]:
        """All but the columns of the query."""
        return tuple(c for c in self.columns if isinstance(c, SystemColumn))

    def only(self, *names: str) -> tuple[str, ...]:
        """Those of the names that rows have, in the order of the rows."""
        return tuple(c for c in self.columns if c in names)

    def without(self, *names: str) -> tuple[str, ...]:
        """All columns but these, in their order."""
        return tuple(c for c in self.columns if c not in names)


@dataclass(frozen=True)
class Rows:
    """A DataFrame, and the shape of its rows. Every method gives new rows, whose shape follows from the call."""

    frame: DataFrame
    shape: RowShape

    def select(self, *parts: str | tuple[str, str]) -> Rows:
        """Rows of these columns: a name keeps one, a pair gives the name and the Spark text of another."""
        names = [p if isinstance(p, str) else p[0] for p in parts]
        made = [text.name(p) if isinstance(p, str) else f"{p[1]} AS {text.name(p[0])}" for p in parts]
        return Rows(self.frame.selectExpr(*made), RowShape(tuple(names)))

    def plus(self, *made: tuple[str, str]) -> Rows:
        """The same rows with further columns: name and Spark text."""
        added = [f"{expr} AS {text.name(name)}" for name, expr in made]
        return Rows(self.frame.selectExpr("*", *added), RowShape((*self.shape.columns, *(n for n, _ in made))))

    def several(self, names: tuple[str, ...], expr: str) -> Rows:
        """The same with several columns by one Spark text, as ``posexplode`` makes them."""
        made = f"{expr} AS ({', '.join(names)})"
        return Rows(self.frame.selectExpr("*", made), RowShape((*self.shape.columns, *names)))

    def unpacked(self, struct: str, fields: Iterable[str], *more: str | tuple[str, str]) -> Rows:
        """The fields of a column as columns, then others as in :meth:`select`."""
        return self.select(*((f, f"{struct}.{text.name(f)}") for f in fields), *more)

    def where(self, condition: str) -> Rows:
        """The rows for which it holds."""
        return Rows(self.frame.where(condition), self.shape)

    def drop(self, *names: str) -> Rows:
        """The rows without these columns, so far as they have them."""
        gone = self.shape.only(*names)
        return Rows(self.frame.drop(*gone), RowShape(self.shape.without(*gone))) if gone else self

    def grouped(self, by: Mapping[str, str], state: Mapping[str, str]) -> Rows:
        """One row for each row, with the state of its group after it (``state``: aggregates), in update mode.

        ``by``: the columns of the group, and the Spark text of each. A column stands for itself.
        """
        keys = [F.col(text.name(n)) if n == e else F.expr(e).alias(n) for n, e in by.items()]
        cells = [F.expr(e).alias(n) for n, e in state.items()]
        return Rows(self.frame.groupBy(*keys).agg(*cells), RowShape((*by, *state)))

    def stepped(self, spec: Mapping[str, object], keys: Sequence[str]) -> Rows:
        """The rows that a JVM step gives; ``spec`` says which (``jvm/steps``), ``keys`` what spreads its rows."""
        return self._made(self.frame, "add", spec, keys)

    def in_sessions(self, spec: Mapping[str, object], keys: Sequence[str], state: Mapping[str, str]) -> Rows:
        """The rows of sessions, as the JVM's step gives them; ``state``: aggregates, as in :meth:`grouped`."""
        cells = [F.expr(e).alias(n) for n, e in state.items()]
        return self._made(self.frame.groupBy(*keys).agg(*cells), "session", spec, keys)

    def spread(self, partitions: int, keys: Iterable[str], order: Iterable[str]) -> Rows:
        """The rows of one key in one partition, which is sorted; ``order``: Spark texts, ``DESC`` behind it or not."""
        by = [o for o in order]
        columns = [F.expr(o.removesuffix(" DESC")) for o in by]
        spread = self.frame.repartition(partitions, *(F.expr(k) for k in keys))
        ascending = [not o.endswith(" DESC") for o in by]
        return Rows(spread.sortWithinPartitions(*columns, ascending=ascending), self.shape)

    def repartitioned(self, partitions: int, keys: Iterable[str]) -> Rows:
        """The rows of one key in one partition, as they come."""
        return Rows(self.frame.repartition(partitions, *(F.expr(k) for k in keys)), self.shape)

    def in_step(self, stage: int, tasks: int, time: str, sender: str) -> Rows:
        """The rows in the order of time, see ``jvm/tasks/Progress.java``; without the columns that say which it is.

        ``stage``: how many shuffles came before; ``tasks``: how many are behind each at most;
        ``time``, ``sender``: columns of their times and senders.
        """
        session = self.frame.sparkSession
        node = jvm_of(session).ksqlpy.internals.InStepNode
        made = DataFrame(node.add(scala_frame(self.frame), stage, time, sender, tasks), session)
        return Rows(made, self.shape).drop(time, sender)

    def with_calls(self, described: Sequence[str], arguments: Sequence[str], time: str, values: Sequence[str]) -> Rows:
        """The rows with the values of calls of functions in Python, see ``jvm/internals/AheadNode.java``.

        ``described``: each call as JSON; ``arguments``: the columns of their arguments; ``time``: that of the event
        time; ``values``: the names of the new columns.
        """
        session = self.frame.sparkSession
        node = jvm_of(session).ksqlpy.internals.AheadNode
        made = node.add(scala_frame(self.frame), list(described), list(arguments), time, list(values))
        return Rows(DataFrame(made, session), RowShape((*self.shape.columns, *values)))

    def together(self) -> Rows:
        """All rows in one partition, without a shuffle."""
        return Rows(self.frame.coalesce(1), self.shape)

    def with_watermark(self, column: str, delay_ms: int) -> Rows:
        """The rows with a watermark so many milliseconds behind a TIMESTAMP column."""
        # PySpark takes no subclass of str.
        return Rows(self.frame.withWatermark(str(column), f"{delay_ms} milliseconds"), self.shape)

    def _made(self, frame: DataFrame, method: str, spec: Mapping[str, object], keys: Sequence[str]) -> Rows:
        session = frame.sparkSession
        made = getattr(jvm_of(session).ksqlpy.internals.Steps, method)(scala_frame(frame), json.dumps(spec), list(keys))
        rows = DataFrame(made, session)
        known: dict[str, str] = {str(c): c for c in (*Col, *StepCol, *self.shape.columns)}
        return Rows(rows, RowShape(tuple(known.get(c, c) for c in rows.columns)))
