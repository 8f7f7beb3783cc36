"""Puts rows into their windows, and drops or keeps aside those that are late."""

from __future__ import annotations

from ksqlpy.analysis.result import Window
from ksqlpy.spark.columns import Cell, Col
from ksqlpy.spark.operators.context import Context, struct_of
from ksqlpy.spark.provenance import counted, which_result
from ksqlpy.spark.rows import Rows

__all__ = ["in_windows"]


def in_windows(w: Window, context: Context, rows: Rows) -> Rows:
    """Each row in each of its windows (``__ws``), without those that are closed.

    Stream time is the largest ROWTIME so far in the source partition, carried as state, so that grace is exact for
    every record (ksqlDB, windows: a row is late when window end + grace ≤ stream time).
    """
    columns = rows.shape.without(Col.SOURCE)
    state = {
        Col.STREAM_TIME: f"max(CASE WHEN {Col.RAW} IS NULL THEN {Col.ROWTIME} END)",
        Cell.ROW: f"last({struct_of(columns)})",
    }
    rows = context.distribute(rows, [Col.PARTITION]).grouped({Col.PARTITION: Col.PARTITION}, state)
    first = f"greatest(0L, {Cell.ROW}.{Col.ROWTIME} - {w.size - w.advance}) div {w.advance} * {w.advance}"
    last = f"{Cell.ROW}.{Col.ROWTIME} div {w.advance} * {w.advance}"
    if w.kind == "TUMBLING":
        start = f"CASE WHEN {Cell.ROW}.{Col.RAW} IS NULL THEN {last} END"
    else:
        starts = f"sequence({first}, {last}, {w.advance}L)"
        start = f"explode(CASE WHEN {Cell.ROW}.{Col.RAW} IS NULL THEN {starts} ELSE array(cast(null as bigint)) END)"
    rows = rows.unpacked(Cell.ROW, columns, Col.STREAM_TIME, (Col.WINDOW_START, start))
    late = f"{Col.WINDOW_START} + {w.size + w.grace} <= {Col.STREAM_TIME}"
    if context.tail is not None:  # what has a result was not late
        late += f" AND {context.tail.position(Col.PARTITION, Col.OFFSET, which_result(rows.shape, w))} IS NULL"
    late = counted(context.name + ":late", late)
    rows = _kept_late(w, context, rows, late) if w.late_topic else rows.where(f"{Col.RAW} IS NOT NULL OR NOT {late}")
    # The watermark only evicts the state of closed windows, at checkpoints: the largest end is at most SIZE ahead
    # of stream time, so a delay of GRACE + SIZE never closes a window early.
    return rows.plus((Col.WINDOW_CLOSE, f"timestamp_millis({Col.WINDOW_START} + {w.size})")).with_watermark(
        Col.WINDOW_CLOSE, w.size + w.grace
    )


def _kept_late(w: Window, context: Context, rows: Rows, late: str) -> Rows:
    """Late rows as records that pass by, one for all windows of a row: the first is late if any is."""
    number = which_result(rows.shape, w)
    rows = rows.plus((Col.LATE, f"CASE WHEN {Col.RAW} IS NULL THEN {late} ELSE false END"))
    first = f"greatest(0L, {Col.ROWTIME} - {w.size - w.advance}) div {w.advance} * {w.advance}"
    rows = rows.where(f"NOT {Col.LATE} OR {Col.WINDOW_START} = {first}")
    record = ", ".join(f"{Col.CAME}.{c} AS {c}" for c in context.record)
    start, closed = Col.WINDOW_START, f"{Col.WINDOW_START} + {w.size + w.grace}"
    reason = (
        f"concat('event time ', {Col.ROWTIME}, ' is late: its window from ', {start}, ' to ', {start} + {w.size},"
        f" ' was closed at ', {closed}, ', stream time was ', {Col.STREAM_TIME})"
    )
    kept = rows.shape.without(Col.RAW, Col.REASON, Col.CAME, Col.LATE, Col.STREAM_TIME)
    # In the group of no key, as rows that could not be read, and without values for its state.
    of_group = {*rows.shape.without(*rows.shape.system), Col.WINDOW_START}
    return rows.select(
        *((c, f"CASE WHEN NOT {Col.LATE} THEN {c} END") if c in of_group else c for c in kept),
        (Col.RAW, f"CASE WHEN {Col.LATE} THEN struct({record}, {number} AS late) ELSE {Col.RAW} END"),
        (Col.REASON, f"CASE WHEN {Col.LATE} THEN {reason} ELSE {Col.REASON} END"),
    )
