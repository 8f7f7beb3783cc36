"""Rows between the operators of a running query: a DataFrame, and the typed shape of what it carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ksqlpy.analysis.typed import SYSTEM
from ksqlpy.formats import text

__all__ = ["Col", "RowShape", "Rows", "StepCol"]

_VALUE = re.compile(r"__[ukao]\d")
"""Begins the names of columns that only the projection above them speaks of."""


class Col:
    """The system columns, which rows carry beside the columns of their query. They are named here and nowhere else.

    What only one builder uses between two steps is its own.
    """

    RAW = "__raw"
    """The record as it came, for rows that no scan has read yet or that cannot be read; null for all others. Such rows
    pass every operator unchanged and leave as dead letters."""
    REASON = "__reason"
    """Why a record cannot be read."""
    CAME = "__came"
    """With a topic for late records: the record as it came, up to the windows. What is late there becomes a row like
    those that cannot be read, with ``RAW.late``, the number of the first result that it would have had."""
    DELETED = "__del"
    """The record has no value: a tombstone of a table."""
    KEYLESS = "__keyless"
    """The record of a stream with several key columns has no key, where its key is that of the result."""
    HEADERS = "__headers"
    """The headers of the record, which those of its results are, too."""
    ROWTIME, PARTITION, OFFSET = SYSTEM["ROWTIME"][0], SYSTEM["ROWPARTITION"][0], SYSTEM["ROWOFFSET"][0]
    """ROWTIME in ms, and the place of the record: with several topics the topic's number is part of the partition."""
    WINDOW_START, WINDOW_END = SYSTEM["WINDOWSTART"][0], SYSTEM["WINDOWEND"][0]
    """The bounds of the window, in ms."""
    WINDOW_CLOSE = "__wend"
    """The end of the window as a TIMESTAMP, for Spark's watermark."""
    SEEN = "__seen"
    """With the number of a join: the offset of the last record of its table that the row saw."""
    SEEN_GROUP = "__seen_group"
    """After GROUP BY with HAVING: the group's hash."""
    SEEN_LANE = "__seen_"
    """With the number of a lane: its last offset that the group had seen."""
    LANE = "__lane"
    """With HAVING: the way on which rows come to their group in the order of their offsets: the source partition, and
    for a table, whose rows are spread by their key before, also the part of the keys."""
    PROGRESS = "__progress"
    """After a step of the JVM: its task, and what the task had taken of each source partition, BINARY."""
    TURN = "__turn"
    """While a backlog is sorted: the stream time of the row's partition."""
    SENT = "__sent"
    SENDER = "__sender"
    """Through a shuffle of a query that is read by time: the time of the row, and the task that sent it."""
    ORDER = "__order"
    """While rows are sorted by time: the place of a row of a joined table among those of its task. Rows of one key come
    from several partitions there, so that neither their time nor their offset is their order."""
    ROW = "__row"
    """After table functions, after a union whose branches read the same topic, and after GROUP BY of a table: the
    number of the row among those that one record brought about, from 0."""
    CHANGED, SEQ = "__changed", "__seq"
    """After a join of tables: whether the row's result is new, and its number within its key."""
    OLD = "__old"
    """Ahead of GROUP BY of a table: the row that is replaced."""
    SOURCE = "__source"
    """While a backlog is sorted: the place of the partition, up to the first stateful step."""
    SIDE, READ = "__side", "__read"
    """Up to a join: the number of the row's table, null for all other rows; whether the last scan has read the row."""
    BRANCH, ORIGIN, DONE = "__branch", "__origin", "__done"
    """Within a union: the branch that reads the row, the record itself, and the finished row. Where one table is joined
    several times: which copy of the record it is."""
    TIME, UNTIMED = "__result_time", "__untimed"
    """With TIMESTAMP of the sink: the time of the result, and why it has none."""


class StepCol:
    """Further columns that steps of the JVM take and give, by the names that ``jvm/steps`` knows."""

    KEY, NUMBER = "__key", "__number"
    """What rows of one key share, a STRUCT; the number of the row among those of its record."""
    LEFT, RIGHT = "__left", "__right"
    """Of a join: the row of either side, a STRUCT, null where there is none."""
    PK, FK = "__pk", "__fk"
    """Of a join by a foreign key: the left row's primary key, and what it points to; STRUCTs."""
    END, RESULT = "__end", "__result"
    """Of EMIT FINAL: the end of the row's window in ms. The row that is kept and comes out, a STRUCT."""
    NEAR, RANK = "__near", "__rank"
    """Of LAG and LEAD, with the number of the call: the row that it looks at, a STRUCT. Of ROW_NUMBER: the rank."""


@dataclass(frozen=True)
class RowShape:
    """What rows carry: ``columns`` are all their columns in order, the system columns among them."""

    columns: tuple[str, ...]

    def _has(self, name: str) -> bool:
        return name in self.columns

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
        return tuple(c for c in self.columns if c.startswith(Col.SEEN) and not c.startswith(Col.SEEN_LANE))

    @property
    def seen_of_group(self) -> tuple[str, ...]:
        """The columns that say what the row's group had seen of its lanes: first the group's hash."""
        return tuple(c for c in self.columns if c.startswith(Col.SEEN_LANE))

    @property
    def seen(self) -> tuple[str, ...]:
        """Both, in their order."""
        return tuple(c for c in self.columns if c.startswith(Col.SEEN))

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
        return tuple(c for c in self.columns if c.startswith("__") and not _VALUE.match(c))

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
        return _made(self.frame, "add", spec, keys)

    def in_sessions(self, spec: Mapping[str, object], keys: Sequence[str], state: Mapping[str, str]) -> Rows:
        """The rows of sessions, as the JVM's step gives them; ``state``: aggregates, as in :meth:`grouped`."""
        cells = [F.expr(e).alias(n) for n, e in state.items()]
        return _made(self.frame.groupBy(*keys).agg(*cells), "session", spec, keys)

    def spread(self, partitions: int, keys: Iterable[str], order: Iterable[str]) -> Rows:
        """The rows of one key in one partition, which is sorted; ``order``: Spark texts, ``DESC`` behind it or not."""
        by = [o for o in order]
        columns = [F.expr(o.removesuffix(" DESC")) for o in by]
        spread = self.frame.repartition(partitions, *(F.expr(k) for k in keys))
        ascending = [not o.endswith(" DESC") for o in by]
        return Rows(spread.sortWithinPartitions(*columns, ascending=ascending), self.shape)

    def spread_by_less(self) -> Rows:
        """The same rows; aggregates of their query may lie with all rows of a part of their keys.

        For all queries of the session: each has one of its own.
        """
        self.frame.sparkSession.conf.set("spark.sql.streaming.statefulOperator.useStrictDistribution", "false")
        return self

    def repartitioned(self, partitions: int, keys: Iterable[str]) -> Rows:
        """The rows of one key in one partition, as they come."""
        return Rows(self.frame.repartition(partitions, *(F.expr(k) for k in keys)), self.shape)

    def in_step(self, stage: int, tasks: int, time: str, sender: str) -> Rows:
        """The rows in the order of time, see ``jvm/tasks/Progress.java``; without the columns that say which it is.

        ``stage``: how many shuffles came before; ``tasks``: how many are behind each at most;
        ``time``, ``sender``: columns of their times and senders.
        """
        session = self.frame.sparkSession
        jvm: Any = session._jvm
        made = DataFrame(jvm.ksqlpy.internals.InStepNode.add(self.frame._jdf, stage, time, sender, tasks), session)
        return Rows(made, self.shape).drop(time, sender)

    def together(self) -> Rows:
        """All rows in one partition, without a shuffle."""
        return Rows(self.frame.coalesce(1), self.shape)

    def with_watermark(self, column: str, delay_ms: int) -> Rows:
        """The rows with a watermark so many milliseconds behind a TIMESTAMP column."""
        return Rows(self.frame.withWatermark(column, f"{delay_ms} milliseconds"), self.shape)


def _made(frame: DataFrame, method: str, spec: Mapping[str, object], keys: Sequence[str]) -> Rows:
    session = frame.sparkSession
    jvm: Any = session._jvm
    made = getattr(jvm.ksqlpy.internals.Steps, method)(frame._jdf, json.dumps(spec), list(keys))
    rows = DataFrame(made, session)
    return Rows(rows, RowShape(tuple(rows.columns)))
