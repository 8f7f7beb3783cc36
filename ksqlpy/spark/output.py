"""Rows as records for Spark's Kafka sink: topics, keys, values and headers; dead letters; what is written already."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.catalog import Source
from ksqlpy.formats import Written, json_object, key_part, text, value_part, write
from ksqlpy.functions.times import time_of_text
from ksqlpy.plan.nodes import Aggregate, Node, Plan, Project, Scan, TablesJoin, Union, nodes_of
from ksqlpy.spark.expressions import failure_text, spark_text, spark_type
from ksqlpy.spark.marks import counted, lane_of, reached_on_lane, seen_columns, source_place, which_result
from ksqlpy.spark.once import Tail, sink_value
from ksqlpy.types import STRING, TIMESTAMP

__all__ = ["HEADERS", "counting", "kafka_output", "undone"]

HEADERS = {
    "topic": "ksqlpy.source.topic",
    "partition": "ksqlpy.source.partition",
    "offset": "ksqlpy.source.offset",
    "reason": "ksqlpy.reason",
    "timestamp": "ksqlpy.source.timestamp",
    "query": "ksqlpy.query",
}
"""Header names of a dead letter and of a late record; all values are text, the timestamp in ms."""


def kafka_output(
    plan: Plan,
    rows: DataFrame,
    query_id: str,
    sink: Source | str,
    dead_topic: str,
    *,
    at: bool = False,
    tail: Tail | None = None,
) -> DataFrame:
    """The rows as records for Spark's Kafka sink: topic, key, value (see :func:`.once.sink_value`), headers.

    ``sink``: the source that is written, or the topic of a transient query, whose values are JSON objects of all
    columns. Dead letters go to ``dead_topic`` with the bytes of the record and its place and reason in headers; late
    records likewise to a topic of their own, if the plan has one.
    ``at``: every record says where it came from. ``tail``: what is there already is left out, if :func:`undone` did not
    do so.
    """
    rows = _placed(plan, rows, tail) if at or tail is not None else rows
    outputs = [Written(o.name, o.expr.type, _column(plan, o, query_id)) for o in plan.root.outputs]
    if isinstance(sink, str):
        topic, key = sink, "cast(null as binary)"
        value = f"cast({json_object(outputs)} as binary)"
        rowtime = "__ts"
    else:
        topic = sink.topic
        by_name = {o.name: o for o in outputs}
        key = write(key_part(sink), [by_name[c.name] for c in sink.keys])
        if len(sink.keys) > 1 and _keeps_key(plan):  # no key stays no key, it is not a record of nulls
            none = " AND ".join(f"{by_name[c.name].value} IS NULL" for c in sink.keys)
            key = f"CASE WHEN NOT ({none}) THEN {key} END"
        if sink.window is not None:
            bounds = ["__we", "__ws"] if sink.window.size is None else ["__ws"]
            key = f"concat({key}, {', '.join(f'cast({b} as binary)' for b in bounds)})"
        value = write(value_part(sink), [by_name[c.name] for c in sink.values])
        rowtime = _sink_time(
            sink, {o.name: Written(o.name, o.expr.type, spark_text(o.expr)) for o in plan.root.outputs}
        )
    if tail is not None and plan.joined_by_key:
        over = tail.is_ahead("__at", "__at_offset", key)
        rows = rows.where(f"NOT CASE WHEN __raw IS NULL THEN {over} ELSE false END")
    coordinates = ("__at", "__at_offset", "__at_window") if at else ()
    of_group = [c for c in seen_columns(rows) if c.startswith("__seen_")]
    of_tables = [c for c in seen_columns(rows) if c not in of_group]
    sent = sink_value(
        f"CASE WHEN __raw IS NULL THEN {rowtime} ELSE __raw.ts END",
        f"CASE WHEN __raw IS NOT NULL THEN __raw.value WHEN NOT __del THEN {value} END",
        coordinates, of_tables, of_group,
    )  # fmt: skip
    dead = {
        HEADERS["topic"]: "__raw.topic",
        HEADERS["partition"]: "cast(__raw.partition as string)",
        HEADERS["offset"]: "cast(__raw.offset as string)",
        HEADERS["timestamp"]: "cast(__raw.ts as string)",
        HEADERS["reason"]: "__reason",
        HEADERS["query"]: text.string(query_id),
    }
    fields = [f"struct({text.string(n)} AS key, cast({v} as binary) AS value)" for n, v in dead.items()]
    own = " ELSE __headers" if "__headers" in rows.columns else ""
    late_topic = plan.late_topic
    late = f" WHEN __raw.late IS NOT NULL THEN {text.string(late_topic)}" if late_topic is not None else ""
    return rows.selectExpr(
        f"CASE WHEN __raw IS NULL THEN {text.string(topic)}{late} ELSE {text.string(dead_topic)} END AS topic",
        f"CASE WHEN __raw IS NULL THEN {key} ELSE __raw.key END AS key",
        f"{sent} AS value",
        f"CASE WHEN __raw IS NOT NULL THEN array({', '.join(fields)}){own} END AS headers",
    )


def undone(plan: Plan, records: DataFrame, tail: Tail | None) -> DataFrame:
    """The Kafka records without those whose only result is written, where nothing else comes of them.

    They are most of what a query reads again, and cost next to nothing here.
    """
    if tail is None or not plan.done_as_read:
        return records
    return records.where(f"{tail.position(source_place(plan, 'topic', 'partition'), 'offset', '0L')} IS NULL")


def _keeps_key(plan: Plan) -> bool:
    """Whether the key of the result is that of the records."""

    def keeps(node: Node, keys: list[t.Expr]) -> bool:
        match node:
            case Scan(relation):
                own = [relation.ref(c) for c in relation.source.keys]
                return all(k in own for k in keys)
            case Project(below, outputs):
                named = {o.name: o.expr for o in outputs}
                inside = [named.get(k.name) if isinstance(k, t.ColumnRef) else None for k in keys]
                return None not in inside and keeps(below, [k for k in inside if k is not None])
            case Union(branches):
                return all(keeps(b, keys) for b in branches)
            case TablesJoin():
                return keys == [node.key]
        return keeps(node.input, keys)

    return keeps(plan.root.input, [o.expr for o in plan.root.outputs if o.key])


def _placed(plan: Plan, rows: DataFrame, tail: Tail | None) -> DataFrame:
    """Adds the source coordinates of each row, also of unread ones; leaves out the rows that the tail holds."""
    raw = source_place(plan, "__raw.topic", "__raw.partition")
    window = next((n.window for n in nodes_of(plan.root) if isinstance(n, Aggregate)), None)
    rows = rows.selectExpr(
        "*",
        f"CASE WHEN __raw IS NULL THEN __partition ELSE {raw} END AS __at",
        "CASE WHEN __raw IS NULL THEN __offset ELSE __raw.offset END AS __at_offset",
        f"{which_result(rows, window)} AS __at_window",
    )
    if tail is None or plan.done_as_read:
        return rows
    written = tail.position("__at", "__at_offset", "__at_window")
    # A row that a result had seen is done, with or without a result of its own. Where joined tables are grouped, what
    # was seen is of the join, and says nothing of the several results of a record.
    if "__seen_group" in rows.columns and not plan.regroups_joined:
        done = tail.place_in_group("__seen_group", lane_of(rows), reached_on_lane(rows))
        written = f"coalesce(CASE WHEN __raw IS NULL THEN {done} END, {written})"
    return rows.where(f"{written} IS NULL")


def _sink_time(sink: Source, outputs: Mapping[str, Written]) -> str:
    """ROWTIME of the result: of the row, or the column that the sink's TIMESTAMP names."""
    if sink.timestamp is None:
        return "__ts"
    column = outputs[sink.timestamp]
    if column.type == STRING:
        given = time_of_text(column.value, sink.timestamp_format or "")
    else:
        given = f"unix_millis({column.value})" if column.type == TIMESTAMP else column.value
    return f"CASE WHEN {given} >= 0 THEN {given} ELSE __ts END"  # no record can have a negative time


def _column(plan: Plan, output: Output, query_id: str) -> str:
    """The text of a result's column.

    A key that is made of values is null where a stream's record has none (ksqlDB: PARTITION BY is computed from the
    value as a whole).
    """
    value = counting(output.expr, query_id)
    if not output.key or plan.kind == "TABLE" or isinstance(output.expr, t.ColumnRef):
        return value
    expr, node = output.expr, plan.root.input
    while isinstance(node, Project):  # what an inner query calls a column may be a key
        expr, node = t.rewrite(expr, _column_of(node)), node.input
    keys = {s.relation.internal(c.name) for s in plan.scans for c in s.relation.source.keys}
    made_of = {e.name for e in t.walk(expr) if isinstance(e, t.ColumnRef)}
    return value if made_of <= keys else f"CASE WHEN NOT __del THEN {value} END"


def _column_of(node: Project) -> Callable[[t.Expr], t.Expr | None]:
    named = {o.name: o.expr for o in node.outputs}
    return lambda e: named.get(e.name) if isinstance(e, t.ColumnRef) else None


def counting(expr: t.Expr, query_id: str) -> str:
    """The text of a result's column. Where an error made it null, that is counted; all others cost one look."""
    value, failed = spark_text(expr), failure_text(expr)
    if failed is None:
        return value
    failure = counted(query_id + ":failed", failed)
    return f"coalesce({value}, CASE WHEN {failure} THEN cast(null as {spark_type(expr.type)}) END)"
