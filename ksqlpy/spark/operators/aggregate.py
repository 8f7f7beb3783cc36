"""GROUP BY: Spark's own streaming aggregate, which merges each row and emits it at once."""

from __future__ import annotations

from ksqlpy.plan.operators import Aggregate
from ksqlpy.spark.columns import SEEN_GROUP, Cell, Col, SeenOfGroup
from ksqlpy.spark.operators.context import AS_READ, Context, struct_of
from ksqlpy.spark.operators.doubles import kept_bits
from ksqlpy.spark.operators.groups import cells, grouped
from ksqlpy.spark.operators.windows import in_windows
from ksqlpy.spark.provenance import reached_on_lane, which_result
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: Aggregate, context: Context, records: Rows) -> Rows:
    """The new result of a group after each of its rows."""
    rows = context.build(node.input, records)
    shape = rows.shape
    places = [
        Col.PARTITION,
        Col.OFFSET,
        *shape.seen,
        *shape.progress,
        *shape.only(Col.LANE),
        *shape.only(Col.ROW, Col.HEADERS),
    ]
    reached, lane = reached_on_lane(shape), shape.lane
    # Rows of joined tables come from several topics: those of one key have an order only by their number.
    order = ["__nth"] if shape.seen_of_group else []
    rows = rows.plus(("__nth", Col.SEQ)) if order else rows
    places_ahead = [*places, *context.late_records(shape), *shape.only(Col.SOURCE), *order]
    found = grouped(node, context, rows, places_ahead, of_table=node.of_table)
    rows, keys = found.rows, list(found.keys)
    group = list(keys)
    places += [c for c in rows.shape.only(Col.ROW) if c not in places]
    if node.windowing is not None:
        rows = in_windows(node.windowing, context, rows)
        keys = [*keys, Col.WINDOW_START, Col.WINDOW_CLOSE]
    state, results = cells(node, found.changes)
    state[Col.ROWTIME] = f"max({Col.ROWTIME})"
    state[Col.SEQ] = "count(1)"
    # In one, since Spark makes all cells of a group anew for each row.
    last = [*places, Col.RAW, Col.REASON]
    state[Cell.LAST] = f"last({struct_of(last)})"
    lanes = context.watched * (context.distribution.partitions if lane == Col.LANE else 1)
    watched = [SeenOfGroup.of(i) for i in range(lanes)]
    state |= {c: f"max(CASE WHEN {lane} = {i} THEN {reached} END)" for i, c in enumerate(watched)}
    hashed = f"xxhash64({', '.join(keys)})"
    if context.task_step is not None:  # a step of the JVM goes on with the rows in the same tasks
        context.clustered_by_subset = True
        rows = context.to_tasks(rows, context.task_step, group, Col.STREAM_TIME).grouped({k: k for k in keys}, state)
    else:
        replay = list(AS_READ)
        if context.tail is not None and (watched or not context.plan.hides_groups):
            own = context.tail.position(Col.PARTITION, Col.OFFSET, which_result(rows.shape, node.windowing))
            rows = context.replayed(rows, context.tail.place_in_group(hashed, lane, reached) if watched else own, own)
            replay = [Col.PLACE, Col.HAS_RESULT, *order, *replay]
        rows = context.distribute(rows, keys, replay).grouped({k: k for k in keys}, state)
    end = [] if node.windowing is None else [(Col.WINDOW_END, f"{Col.WINDOW_START} + {node.windowing.size}")]
    seen = [(SEEN_GROUP, hashed), *((c, f"coalesce({c}, -1L)") for c in watched)] if watched else []
    made: list[str | tuple[str, str]] = []
    for name, key in zip(group, node.group, strict=True):
        made += kept_bits(context.plan, name, name, key.type)
    made += keys[len(group) :]
    return rows.select(
        *made, *results, *end, Col.ROWTIME, Col.SEQ, *((c, f"{Cell.LAST}.{c}") for c in last), *seen,
        (Col.DELETED, "false"),
    )  # fmt: skip
