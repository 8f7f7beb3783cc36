"""Tables joined by one key, or by one key and its window: the result of a key after each record.

Of every table the state of a key has its row as it is now, whether it has a value, and whether its last two rows had
one (``TABLE``, ``THERE`` and ``LAST_TWO`` of :class:`.Cell`); ``RECORD`` is the record that came.
A chain of joins is worked through from left to right: step j joins what came of the tables before with table j.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.analysis.result import JoinKind
from ksqlpy.formats import text
from ksqlpy.plan.operators import TableTableJoin
from ksqlpy.spark.columns import SEEN_GROUP, Cell, Col, SeenOfGroup
from ksqlpy.spark.once import place
from ksqlpy.spark.operators.context import AS_READ, Context, struct_of
from ksqlpy.spark.operators.doubles import kept_bits, key_of
from ksqlpy.spark.operators.scan import read_tables
from ksqlpy.spark.provenance import needed_while
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: TableTableJoin, context: Context, records: Rows) -> Rows:
    """The new result of a key at each record of a table; a tombstone where there is none any more.

    Each row says what its key had seen of every table, so that a restart can bring rows without a result to
    their place among the others (``__lane`` is the number of the table).
    """
    rows = read_tables(node.tables, context, records)
    keys = [text.name(k.name) for k in node.table_keys]
    bounds = {"__jws": Col.WINDOW_START, "__jwe": Col.WINDOW_END} if node.windowed else {}
    grouped = [Col.JOIN_KEY, *bounds]
    group = f"xxhash64({', '.join(grouped)})"
    key = key_of(context.plan, f"coalesce({', '.join(keys)})", node.key.type)
    rows = rows.plus(
        (Col.JOIN_KEY, f"CASE WHEN {Col.RAW} IS NULL THEN {key} END"),
        *((name, f"CASE WHEN {Col.RAW} IS NULL THEN {bound} END") for name, bound in bounds.items()),
        (Col.ORIGIN, f"CASE WHEN {Col.RAW} IS NULL THEN {place(Col.SIDE, Col.PARTITION)} END"),
    )
    replay = list(AS_READ)
    if context.tail is not None:
        position = context.tail.place_in_group(group, Col.SIDE, Col.OFFSET)
        rows = context.replayed(rows, position, context.tail.position(Col.ORIGIN, Col.OFFSET, "0L"))
        replay = [Col.PLACE, Col.HAS_RESULT, *replay]
    names = [
        context.used_of([r.internal(n) for n in (*(c.name for c in r.source.columns), "ROWTIME")])
        for r in (s.relation for s in node.tables)
    ]
    headers = [Col.HEADERS] if context.headers else []
    seen: dict[str, str] = {
        SeenOfGroup.of(i): f"max(CASE WHEN {Col.SIDE} = {i} THEN {Col.OFFSET} END)" for i in range(len(names))
    }
    state: dict[str, str] = {Col.SEQ: "count(1)", **_sides(names, headers), **seen}
    rows = context.distribute(rows, grouped, replay).grouped({k: k for k in grouped}, state)
    return rows.select(
        *kept_bits(context.plan, node.key.name, Col.JOIN_KEY, node.key.type),
        *((bound, name) for name, bound in bounds.items()),
        *_with_result(node.kinds, names),
        (Col.PARTITION, f"{Cell.RECORD}.{Col.ORIGIN}"), (Col.OFFSET, f"{Cell.RECORD}.{Col.OFFSET}"),
        (Col.LANE, f"{Cell.RECORD}.{Col.SIDE}"),
        (SEEN_GROUP, group), *((c, f"coalesce({c}, -1L)") for c in seen),
        Col.SEQ, *((c, f"{Cell.RECORD}.{c}") for c in (Col.RAW, Col.REASON, *headers)),
    )  # fmt: skip


def _sides(names: Sequence[Sequence[str]], more: Sequence[str]) -> dict[str, str]:
    """The state: name and Spark text of each aggregate. ``names``: the columns that are needed of each table; ``more``:
    columns of the record that came.

    Rows have ``__side``, the number of their table, or null if they could not be read.
    """
    state = {}
    for i, columns in enumerate(names):
        row = struct_of([Col.ROWTIME, *columns])
        state[f"{Cell.TABLE}{i}"] = f"last(CASE WHEN {Col.SIDE} = {i} THEN {row} END, true)"
        state[f"{Cell.THERE}{i}"] = f"last({needed_while(f'NOT {Col.DELETED}', f'{Col.SIDE} = {i}')}, true)"
        state[f"{Cell.LAST_TWO}{i}"] = f"ksqlpy_last_two(CASE WHEN {Col.SIDE} = {i} THEN NOT {Col.DELETED} END)"
    came = [Col.SIDE, Col.ORIGIN, Col.OFFSET, Col.ROWTIME, Col.RAW, Col.REASON, *more]
    state[Cell.RECORD] = f"last({struct_of(came)})"
    return state


def _with_result(kinds: Sequence[JoinKind], names: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Names and Spark texts of the columns, of ``__ts``, ``__del`` and ``__changed``.

    A record changes the result if each step that it passes has a result, or had one before it (Kafka Streams: every
    change of either side is passed on, a tombstone only after a result). ROWTIME is the latest of the record's and of
    the rows that the result is made of.
    """
    count = len(names)
    now = [f"coalesce({Cell.THERE}{i} = 1Y, false)" for i in range(count)]
    before = [
        f"CASE WHEN {Cell.RECORD}.{Col.SIDE} = {i} THEN coalesce({Cell.LAST_TWO}{i}.before, false) ELSE {alive} END"
        for i, alive in enumerate(now)
    ]
    exists, existed = _steps(kinds, now), _steps(kinds, before)
    passed = [f"({Cell.RECORD}.{Col.SIDE} > {j} OR {exists[j]} OR {existed[j]})" for j in range(1, count)]
    shown = [
        " AND ".join([now[i], *(f"{exists[j]}" for j in range(max(i, 1), count))]) for i in range(count)
    ]  # what a step joins is part of the result where that step and all behind it have one
    # A tombstone, too, is as late as what its steps had on their other side.
    met = [
        " AND ".join([now[i], *(f"({exists[j]} OR {Cell.RECORD}.{Col.SIDE} <= {j})" for j in range(max(i, 1), count))])
        for i in range(count)
    ]
    times = [f"CASE WHEN {m} THEN {Cell.TABLE}{i}.{Col.ROWTIME} END" for i, m in enumerate(met)]
    columns = [
        (c, f"CASE WHEN {shown[i]} THEN {Cell.TABLE}{i}.{text.name(c)} END")
        for i, table in enumerate(names)
        for c in table
    ]
    return [
        *columns,
        (Col.ROWTIME, f"greatest({Cell.RECORD}.{Col.ROWTIME}, {', '.join(times)})"),
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
