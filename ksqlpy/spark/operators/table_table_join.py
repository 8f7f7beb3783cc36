"""Tables joined by one key, or by one key and its window: the result of a key after each record.

Of every table the state of a key has ``__t0``, ``__t1``, …, its row as it is now, ``__n0``, …, whether it has a
value, and ``__h0``, …, whether its last two rows had one; ``__cur`` is the record that came.
A chain of joins is worked through from left to right: step j joins what came of the tables before with table j.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.analysis.result import JoinKind
from ksqlpy.formats import text
from ksqlpy.plan.operators import TableTableJoin
from ksqlpy.spark.marks import needed_while
from ksqlpy.spark.once import place
from ksqlpy.spark.operators.context import AS_READ, Context, struct_of
from ksqlpy.spark.operators.scan import read_tables
from ksqlpy.spark.rows import Col, Rows

__all__ = ["build"]


def build(node: TableTableJoin, context: Context, records: Rows) -> Rows:
    """The new result of a key at each record of a table; a tombstone where there is none any more.

    Each row says what its key had seen of every table, so that a restart can bring rows without a result to
    their place among the others (``__lane`` is the number of the table).
    """
    rows = read_tables(node.tables, context, records)
    keys = [text.name(k.name) for k in node.table_keys]
    bounds = {"__jws": Col.WINDOW_START, "__jwe": Col.WINDOW_END} if node.windowed else {}
    grouped = ["__jk", *bounds]
    group = f"xxhash64({', '.join(grouped)})"
    rows = rows.plus(
        ("__jk", f"CASE WHEN {Col.RAW} IS NULL THEN coalesce({', '.join(keys)}) END"),
        *((name, f"CASE WHEN {Col.RAW} IS NULL THEN {bound} END") for name, bound in bounds.items()),
        (Col.ORIGIN, f"CASE WHEN {Col.RAW} IS NULL THEN {place(Col.SIDE, Col.PARTITION)} END"),
    )
    replay = list(AS_READ)
    if context.tail is not None:
        position = context.tail.place_in_group(group, Col.SIDE, Col.OFFSET)
        rows = context.replayed(rows, position, context.tail.position(Col.ORIGIN, Col.OFFSET, "0L"))
        replay = ["__place", "__has_result", *replay]
    names = [
        context.used_of([r.internal(n) for n in (*(c.name for c in r.source.columns), "ROWTIME")])
        for r in (s.relation for s in node.tables)
    ]
    headers = [Col.HEADERS] if context.headers else []
    seen = {f"{Col.SEEN_LANE}{i}": f"max(CASE WHEN {Col.SIDE} = {i} THEN {Col.OFFSET} END)" for i in range(len(names))}
    state = {Col.SEQ: "count(1)", **_sides(names, headers), **seen}
    rows = context.distribute(rows, grouped, replay).grouped({k: k for k in grouped}, state)
    return rows.select(
        (node.key.name, "__jk"), *((bound, name) for name, bound in bounds.items()),
        *_with_result(node.kinds, names),
        (Col.PARTITION, f"__cur.{Col.ORIGIN}"), (Col.OFFSET, f"__cur.{Col.OFFSET}"), (Col.LANE, f"__cur.{Col.SIDE}"),
        (Col.SEEN_GROUP, group), *((c, f"coalesce({c}, -1L)") for c in seen),
        Col.SEQ, *((c, f"__cur.{c}") for c in (Col.RAW, Col.REASON, *headers)),
    )  # fmt: skip


def _sides(names: Sequence[Sequence[str]], more: Sequence[str]) -> dict[str, str]:
    """The state: name and Spark text of each aggregate. ``names``: the columns that are needed of each table; ``more``:
    columns of the record that came.

    Rows have ``__side``, the number of their table, or null if they could not be read.
    """
    state = {}
    for i, columns in enumerate(names):
        row = struct_of([Col.ROWTIME, *columns])
        state[f"__t{i}"] = f"last(CASE WHEN {Col.SIDE} = {i} THEN {row} END, true)"
        state[f"__n{i}"] = f"last({needed_while(f'NOT {Col.DELETED}', f'{Col.SIDE} = {i}')}, true)"
        state[f"__h{i}"] = f"ksqlpy_last_two(CASE WHEN {Col.SIDE} = {i} THEN NOT {Col.DELETED} END)"
    came = [Col.SIDE, Col.ORIGIN, Col.OFFSET, Col.ROWTIME, Col.RAW, Col.REASON, *more]
    state["__cur"] = f"last({struct_of(came)})"
    return state


def _with_result(kinds: Sequence[JoinKind], names: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Names and Spark texts of the columns, of ``__ts``, ``__del`` and ``__changed``.

    A record changes the result if each step that it passes has a result, or had one before it (Kafka Streams: every
    change of either side is passed on, a tombstone only after a result). ROWTIME is the latest of the record's and of
    the rows that the result is made of.
    """
    count = len(names)
    now = [f"coalesce(__n{i} = 1Y, false)" for i in range(count)]
    before = [
        f"CASE WHEN __cur.{Col.SIDE} = {i} THEN coalesce(__h{i}.before, false) ELSE {alive} END"
        for i, alive in enumerate(now)
    ]
    exists, existed = _steps(kinds, now), _steps(kinds, before)
    passed = [f"(__cur.{Col.SIDE} > {j} OR {exists[j]} OR {existed[j]})" for j in range(1, count)]
    shown = [
        " AND ".join([now[i], *(f"{exists[j]}" for j in range(max(i, 1), count))]) for i in range(count)
    ]  # what a step joins is part of the result where that step and all behind it have one
    # A tombstone, too, is as late as what its steps had on their other side.
    met = [
        " AND ".join([now[i], *(f"({exists[j]} OR __cur.{Col.SIDE} <= {j})" for j in range(max(i, 1), count))])
        for i in range(count)
    ]
    times = [f"CASE WHEN {m} THEN __t{i}.{Col.ROWTIME} END" for i, m in enumerate(met)]
    columns = [
        (c, f"CASE WHEN {shown[i]} THEN __t{i}.{text.name(c)} END") for i, table in enumerate(names) for c in table
    ]
    return [
        *columns,
        (Col.ROWTIME, f"greatest(__cur.{Col.ROWTIME}, {', '.join(times)})"),
        (Col.DELETED, f"NOT {exists[-1]}"),
        (Col.CHANGED, f"({' AND '.join(passed)})"),
    ]


def _steps(kinds: Sequence[JoinKind], alive: Sequence[str]) -> list[str]:
    """Whether each step has a result, by whether the tables have a row; step 0 is the first table."""
    steps = [alive[0]]
    for kind, right in zip(kinds, alive[1:], strict=True):
        match kind:
            case "INNER":
                steps.append(f"({steps[-1]} AND {right})")
            case "LEFT":
                steps.append(steps[-1])
            case "RIGHT":
                steps.append(f"({right})")
            case "FULL":
                steps.append(f"({steps[-1]} OR {right})")
    return steps
