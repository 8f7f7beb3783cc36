"""The names of the columns that rows of a running query carry beside the columns of their query.

A name that two functions know stands here and nowhere else. ``jvm/steps/Col.java`` has those that the steps of the JVM
take and give; ``tests/plan/test_columns.py`` compares both. Checkpoints know most of them: no name changes.
"""

from __future__ import annotations

from enum import ReprEnum
from typing import Self

from ksqlpy.analysis.typed import SYSTEM

__all__ = ["SEEN_GROUP", "Cell", "Col", "KeyBits", "SeenOfGroup", "SeenOfTable", "StepCol", "SystemColumn"]


class SystemColumn(str):
    """The name of a system column. The shape of rows goes by this type, not by how a name looks."""

    __slots__ = ()


class SeenOfTable(SystemColumn):
    """The offset of the last record of a joined table that a row saw."""

    __slots__ = ()

    @classmethod
    def of(cls, join: int) -> Self:
        """Of a join, by its number."""
        return cls(f"__seen{join}")


class SeenOfGroup(SystemColumn):
    """The last offset of a lane that the group of a row had seen."""

    __slots__ = ()

    @classmethod
    def of(cls, lane: int) -> Self:
        """Of a lane, by its number."""
        return cls(f"__seen_{lane}")


class KeyBits(SystemColumn):
    """The bits of a key column beside it (``operators/doubles.py``), for a step that has rows in the same tasks."""

    __slots__ = ()

    @classmethod
    def of(cls, key: str) -> Self:
        """Of a key column, by its name."""
        return cls(f"__bits_{key}")


SEEN_GROUP = SeenOfGroup("__seen_group")
"""After GROUP BY with HAVING, and after a join of tables: the group's hash."""


class Col(SystemColumn, ReprEnum):
    """The system columns, beside those of what a row had seen."""

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
    STREAM_TIME, LATE = "__st", "__late"
    """Up to the groups of a window: the stream time of the row's partition. With a topic for late records: whether the
    row is late; of a session, the stream time then."""
    JOIN_KEY = "__jk"
    """Of a join: the value by which rows are joined."""
    NUMBERED = "__numbered"
    """Ahead of a step of the JVM: the number of a row among those of its record, with those of inner results."""
    SPREAD = "__spread"
    """What spreads rows over the tasks of a step of the JVM, if it is not their key."""
    PLACE, HAS_RESULT = "__place", "__has_result"
    """After a restart: the place of the results that a row comes behind, and whether it has a result itself."""
    TIME, UNTIMED = "__result_time", "__untimed"
    """With TIMESTAMP of the sink: the time of the result, and why it has none."""
    FAILED = "__failed"
    """Where functions in Python are called: why the row is a dead letter, null if it is none."""
    AT, AT_OFFSET, AT_WINDOW = "__at", "__at_offset", "__at_window"
    """Ahead of the sink: the place, the offset and the number of a row, those of its record if it could not be read."""


class StepCol(SystemColumn, ReprEnum):
    """Further columns that steps of the JVM take and give, by the names that ``jvm/steps`` knows."""

    KEY, NUMBER = "__key", "__number"
    """What rows of one key share, a STRUCT; the number of the row among those of its record."""
    LEFT, RIGHT = "__left", "__right"
    """Of a join: the row of either side, a STRUCT, null where there is none."""
    PK, FK = "__pk", "__fk"
    """Of a join by a foreign key: the left row's primary key, and what it points to; STRUCTs."""
    OP, VERSION = "__op", "__version"
    """Of a join by a foreign key: what became of the left row, and the number of its change."""
    END, RESULT = "__end", "__result"
    """Of EMIT FINAL: the end of the row's window in ms. The row that is kept and comes out, a STRUCT."""
    NEAR, RANK = "__near", "__rank"
    """Of LAG and LEAD, with the number of the call: the row that it looks at, a STRUCT. Of ROW_NUMBER: the rank."""


class Cell:
    """Columns from which and of which aggregates are made: names, or with a number the beginnings of names."""

    GROUP = "__g"
    """Of the key of a table's rows: one of its columns."""
    KEY = "__k"
    """Of GROUP BY: one of its expressions, under the name by which the query above speaks of it."""
    ARGUMENT, REPLACED = "__x", "__y"
    """Of an aggregate: one of its arguments; the same over the row that is replaced."""
    COMES, GOES = "__comes", "__goes"
    """Of GROUP BY of a table: whether a row enters its group, and whether the replaced one leaves it."""
    ROW, LAST = "__r", "__last"
    """The last row of the group, a STRUCT; those of its columns that the state of the group is not made of."""
    NEEDED = "__needed"
    """Whether the state of the key is needed after its last row."""
    TABLE, THERE, LAST_TWO = "__t", "__n", "__h"
    """Of a joined table: its row, a STRUCT; whether it has one; whether its last two rows were values."""
    RECORD = "__cur"
    """Of a join of tables: the record that came, a STRUCT."""
    VALUE = "__v"
    """Of LAG, LEAD and ROW_NUMBER: what is kept of a row beside its columns."""
