"""Puts rows into their windows, and drops or keeps aside those that are late."""

from __future__ import annotations

import re

from ksqlpy.analysis.result import Window
from ksqlpy.spark.marks import counted, which_result
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.rows import Rows

__all__ = ["in_windows"]

_OF_GROUP = re.compile(r"__([kx]\d|ws$)")


def in_windows(w: Window, context: Context, rows: Rows) -> Rows:
    """Each row in each of its windows (``__ws``), without those that are closed.

    Stream time is the largest ROWTIME so far in the source partition, carried as state, so that grace is exact for
    every record (ksqlDB, windows: a row is late when window end + grace ≤ stream time).
    """
    columns = rows.shape.without("__source")
    state = {"__st": "max(CASE WHEN __raw IS NULL THEN __ts END)", "__r": f"last({struct_of(columns)})"}
    rows = context.distribute(rows, ["__partition"]).grouped({"__partition": "__partition"}, state)
    first = f"greatest(0L, __r.__ts - {w.size - w.advance}) div {w.advance} * {w.advance}"
    last = f"__r.__ts div {w.advance} * {w.advance}"
    if w.kind == "TUMBLING":
        start = f"CASE WHEN __r.__raw IS NULL THEN {last} END"
    else:
        starts = f"sequence({first}, {last}, {w.advance}L)"
        start = f"explode(CASE WHEN __r.__raw IS NULL THEN {starts} ELSE array(cast(null as bigint)) END)"
    rows = rows.unpacked("__r", columns, "__st", ("__ws", start))
    late = f"__ws + {w.size + w.grace} <= __st"
    if context.tail is not None:  # what has a result was not late
        late += f" AND {context.tail.position('__partition', '__offset', which_result(rows.shape, w))} IS NULL"
    late = counted(context.name + ":late", late)
    rows = _kept_late(w, context, rows, late) if w.late_topic else rows.where(f"__raw IS NOT NULL OR NOT {late}")
    # The watermark only evicts the state of closed windows, at checkpoints: the largest end is at most SIZE ahead
    # of stream time, so a delay of GRACE + SIZE never closes a window early.
    return rows.plus(("__wend", f"timestamp_millis(__ws + {w.size})")).with_watermark("__wend", w.size + w.grace)


def _kept_late(w: Window, context: Context, rows: Rows, late: str) -> Rows:
    """Late rows as records that pass by, one for all windows of a row: the first is late if any is."""
    number = which_result(rows.shape, w)
    rows = rows.plus(("__late", f"CASE WHEN __raw IS NULL THEN {late} ELSE false END"))
    first = f"greatest(0L, __ts - {w.size - w.advance}) div {w.advance} * {w.advance}"
    rows = rows.where(f"NOT __late OR __ws = {first}")
    record = ", ".join(f"__came.{c} AS {c}" for c in context.record)
    reason = (
        f"concat('event time ', __ts, ' is late: its window from ', __ws, ' to ', __ws + {w.size},"
        f" ' was closed at ', __ws + {w.size + w.grace}, ', stream time was ', __st)"
    )
    kept = rows.shape.without("__raw", "__reason", "__came", "__late", "__st")
    # In the group of no key, as rows that could not be read, and without values for its state.
    return rows.select(
        *((c, f"CASE WHEN NOT __late THEN {c} END") if _OF_GROUP.match(c) else c for c in kept),
        ("__raw", f"CASE WHEN __late THEN struct({record}, {number} AS late) ELSE __raw END"),
        ("__reason", f"CASE WHEN __late THEN {reason} ELSE __reason END"),
    )
