"""What rows carry beside their columns, as Spark text: their place, their number, what they had seen.

The columns are described in :mod:`ksqlpy.spark.columns`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ksqlpy.analysis.result import Window
from ksqlpy.formats import text
from ksqlpy.plan import Plan
from ksqlpy.spark.columns import Col
from ksqlpy.spark.once import place
from ksqlpy.spark.rows import RowShape

__all__ = [
    "ROWS",
    "UNTIMED",
    "counted",
    "first_attempt",
    "last_needed",
    "needed_while",
    "reached_on_lane",
    "row_in_window",
    "sent_to",
    "source_place",
    "stream_time",
    "touched",
    "which_result",
]


ROWS = f"{1 << 24}L"
"""Spark text of a number: more rows than one row ever becomes in one step, since its arrays are of one record."""

LATE = f"{-(1 << 62)}L"
"""Begins the numbers of late records, which are no results: they must not be taken for them."""

UNTIMED = f"{-(1 << 61)}L"
"""Begins the numbers of results that are not written since they have no time."""


def counted(name: str, condition: str) -> str:
    """Spark text of a condition that is counted where it holds."""
    return f"ksqlpy.{text.name(json.dumps({'count': name}))}(coalesce({condition}, false))"


def first_attempt(of: str) -> str:
    """Spark text of a condition that is true, and fails in a task that was tried before; ``of``: any BIGINT."""
    return f"ksqlpy.{text.name(json.dumps({'attempt': True}))}({of})"


def needed_while(condition: str, of: str = "true") -> str:
    """Spark text: 1 = keep the state of the key after this row, 0 = expire it, null = no statement (a row that does not
    meet ``of``).

    Its type is TINYINT, which no other cell of a state has: by it ``jvm/state/Expiry.java`` knows what is dead.
    """
    return f"CASE WHEN {of} THEN cast(coalesce({condition}, false) as tinyint) END"


def last_needed(condition: str, keys: Sequence[object]) -> str:
    """Spark text of the aggregate: whether the state of a key of so many columns is needed after its last row.

    Rows that could not be read are in the group of nulls. With several columns that is a key, too, of which they must
    not say anything.
    """
    if len(keys) > 1:
        return f"last({needed_while(condition, f'{Col.RAW} IS NULL')}, true)"
    return f"last({needed_while(condition)})"


def touched(condition: str) -> str:
    """Spark text: 1 if the row changes what is remembered of its key, else null.

    The last one that is not null makes a cell of the state of type SMALLINT, which no other cell has: while it is null,
    ``jvm/internals/ExpiringState.java`` writes nothing, so rows that only ask leave no trace.
    """
    return f"CASE WHEN {condition} THEN 1S END"


def stream_time(place: str, time: str) -> str:
    """Spark text of the stream time of a record's partition, as its records are read one after the other."""
    return f"ksqlpy.{text.name(json.dumps({'clock': True}))}({place}, {time})"


def sent_to(keys: Sequence[str], partitions: int, stage: int, time: str) -> str:
    """Spark text of a row's time, which notes that the row goes to the task of these keys; without keys to the first.

    See ``jvm/tasks/Sent.java``. ``stage``: how many shuffles came before.
    """
    task = f"pmod(hash({', '.join(keys)}), {partitions})" if keys else "0"
    return f"ksqlpy.{text.name(json.dumps({'sent': partitions, 'stage': stage}))}({task}, {time})"


def source_place(plan: Plan, topic: str, partition: str) -> str:
    """Spark text of the place of a record of any of the plan's topics."""
    others = list(enumerate(plan.topics))[1:]
    if not others:
        return place(0, partition)
    cases = " ".join(f"WHEN {topic} = {text.string(name)} THEN {place(i, partition)}" for i, name in others)
    return f"CASE {cases} ELSE {place(0, partition)} END"


def which_result(shape: RowShape, window: Window | None) -> str:
    """Spark text: which of the results that one record brings about this is: its window, its number, both, or 0.

    For both, windows are counted: those of one row follow each other. A late record is told by ``__raw.late``.
    """
    found = _result(shape, window)
    late = window is not None and window.late_topic is not None and not shape.late
    return f"coalesce({LATE} + {Col.RAW}.late, {found})" if late else found


def _result(shape: RowShape, window: Window | None) -> str:
    row = f"cast(coalesce({Col.ROW}, 0) as bigint)" if shape.numbered else "0L"
    if window is None or shape.progress:  # a step of the JVM numbers all that a record brings about
        return row
    if not shape.numbered:
        return f"coalesce({Col.WINDOW_START}, 0L)"
    return row_in_window(row, window)


def row_in_window(row: str, window: Window) -> str:
    """Spark text of the number of a row among those that its record has in all of its windows."""
    windows = -(-window.size // window.advance)
    return f"{row} * {windows} + coalesce(pmod({Col.WINDOW_START} div {window.advance}, {windows}), 0L)"


def reached_on_lane(shape: RowShape) -> str:
    """Spark text: how far a row is on its lane; one record may have several rows in a group, if it is no table's."""
    return f"({Col.OFFSET} * {ROWS} + {Col.ROW})" if shape.numbered and not shape.laned else Col.OFFSET
