"""A stream joined with tables: one Spark aggregate, whose state is the last row of each table of a key."""

from __future__ import annotations

from ksqlpy.formats import text
from ksqlpy.plan.letters import makes_letters
from ksqlpy.plan.operators import StreamTableJoin
from ksqlpy.spark.columns import Cell, Col, SeenOfTable
from ksqlpy.spark.deadrows import set_aside, tried_values
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import AS_READ, LAST, Context, struct_of
from ksqlpy.spark.operators.doubles import key_of, signs_zero, value_of
from ksqlpy.spark.operators.scan import read_tables
from ksqlpy.spark.provenance import needed_while, touched
from ksqlpy.spark.rows import Rows

__all__ = ["build"]


def build(node: StreamTableJoin, context: Context, records: Rows) -> Rows:
    """Each row of the stream with the rows of its key in the tables, as read so far."""
    rows = context.build(node.input, records)
    left = rows.shape.without(Col.RAW, Col.REASON, Col.READ, Col.SOURCE)
    retraced, number = context.plan.retraced, len(rows.shape.seen)
    rows = read_tables(node.tables, context, rows)
    if Col.BRANCH in rows.shape.columns:  # what another copy tells of an unreadable record is enough
        rows = rows.where(f"NOT ({Col.BRANCH} > 0 AND {Col.REASON} IS NOT NULL)")
    relations = [s.relation for s in node.tables]
    keys = [k.name for k in node.table_keys]
    of_table = f"coalesce({', '.join(map(text.name, keys))})"
    of_stream, made = spark_text(node.left), list[str]()
    if context.letters and makes_letters(node.left):
        own = f"{Col.SIDE} IS NULL AND {Col.RAW} IS NULL AND NOT {Col.DELETED}"
        rows, made = tried_values(rows, [of_stream], own)
        rows, of_stream = set_aside(rows), made[0]
    key = f"CASE WHEN {Col.SIDE} IS NULL THEN {of_stream} ELSE {of_table} END"
    key = key_of(context.plan, key, node.left.type, signed=signs_zero(relations[0], [node.left]))
    rows = rows.plus((Col.JOIN_KEY, f"CASE WHEN {Col.RAW} IS NULL THEN {key} END")).drop(*made)
    # A stream record without a value never joins; one without a key comes out if no table must have a row.
    joins = f"{Col.JOIN_KEY} IS NOT NULL"
    if node.keeps_null_keys:
        joins = f"({joins} OR {Col.SIDE} IS NULL)"
    rows = rows.where(f"{Col.RAW} IS NOT NULL OR ({joins} AND ({Col.SIDE} IS NOT NULL OR NOT {Col.DELETED}))")
    replay: list[str] = []
    if context.tail is not None and retraced:
        # A row whose result is there comes behind the table record that it had seen, all others behind the table.
        seen = context.tail.table(Col.PARTITION, Col.OFFSET, number)
        at = f"CASE WHEN {Col.SIDE} IS NOT NULL THEN {Col.OFFSET} WHEN {Col.RAW} IS NULL THEN {seen} END"
        rows = rows.plus((Col.PLACE, f"coalesce({at}, {LAST})"))
        replay = [Col.PLACE, f"{Col.SIDE} DESC"]
    elif context.tail is not None:  # what has a result is left out in the end, and nothing else has seen anything
        replay = [f"{Col.SIDE} DESC"]
    values = [
        context.used_of([r.internal(n) for n in (*(c.name for c in (*r.source.values, *r.source.headers)), "ROWTIME")])
        for r in relations
    ]
    state = {}
    for i, names in enumerate(values):
        cells = [*([Col.OFFSET] if retraced else []), *names]
        if cells:
            state[f"{Cell.TABLE}{i}"] = f"last(CASE WHEN {Col.SIDE} = {i} THEN {struct_of(cells)} END, true)"
        state[f"__known{i}"] = f"last({needed_while(f'NOT {Col.DELETED}', f'{Col.SIDE} = {i}')}, true)"
    state["__touched"] = f"last({touched(f'{Col.SIDE} IS NOT NULL')}, true)"
    # In one, since Spark makes all cells of a group anew for each row.
    state["__l"] = f"last({struct_of([*left, Col.SIDE, Col.RAW, Col.REASON])})"
    rows = context.distribute(rows, [Col.JOIN_KEY], [*replay, *AS_READ])
    rows = rows.grouped({Col.JOIN_KEY: Col.JOIN_KEY}, state)
    found = [f"coalesce(__known{i} = 1Y, false)" for i in range(len(values))]
    needed = [f for f, kind in zip(found, node.kinds, strict=True) if kind == "INNER"]
    # Always true, so that Spark does not leave the cell out.
    wanted = " AND ".join([f"__l.{Col.SIDE} IS NULL", "coalesce(__touched, 1S) = 1S", *needed])
    rows = rows.where(f"__l.{Col.RAW} IS NOT NULL OR ({wanted})")
    joined: list[tuple[str, str]] = []
    for i, (name, names) in enumerate(zip(keys, values, strict=True)):
        if name in context.used:
            value = value_of(context.plan, Col.JOIN_KEY, node.left.type)
            joined.append((name, f"CASE WHEN {found[i]} THEN {value} END"))
        joined += [(v, f"CASE WHEN {found[i]} THEN {Cell.TABLE}{i}.{text.name(v)} END") for v in names]
    if retraced:
        joined.append((SeenOfTable.of(number), f"coalesce({Cell.TABLE}0.{Col.OFFSET}, -1L)"))
    if context.copies.keys() <= {*node.relations}:  # all are read
        left = tuple(c for c in left if c != Col.BRANCH)
    return rows.unpacked("__l", left, *joined, (Col.RAW, f"__l.{Col.RAW}"), (Col.REASON, f"__l.{Col.REASON}"))
