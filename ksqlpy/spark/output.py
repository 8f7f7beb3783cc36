"""Rows as records for Spark's Kafka sink: topics, keys, values and headers; dead letters; what is written already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Output
from ksqlpy.catalog import Source
from ksqlpy.deadletters import HEADERS, RESULT
from ksqlpy.formats import Written, json_object, text, write
from ksqlpy.plan import Plan
from ksqlpy.plan.letters import makes_letters
from ksqlpy.plan.operators import Project
from ksqlpy.spark.ahead import CallAhead, calls_ahead, made_ahead
from ksqlpy.spark.columns import SEEN_GROUP, Col
from ksqlpy.spark.counted_failures import counting
from ksqlpy.spark.deadrows import set_aside, tried_values
from ksqlpy.spark.eventtime import no_time, time_of
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.figures import client_figures
from ksqlpy.spark.once import Tail, sink_value
from ksqlpy.spark.provenance import (
    UNTIMED,
    counted,
    reached_on_lane,
    sent_to,
    source_place,
    stream_time,
    which_result,
)
from ksqlpy.spark.rows import Rows, RowShape
from ksqlpy.spark.signing import KEY_SETTING
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.types import MapType, SqlType

__all__ = ["InStep", "kafka_output", "sink_options", "undone"]


def kafka_output(
    plan: Plan,
    rows: Rows,
    query_id: str,
    sink: Source | str,
    dead_topic: str,
    *,
    at: bool = False,
    tail: Tail | None = None,
    counted_as: str = "",
    in_order: bool = False,
    in_step: InStep | None = None,
) -> DataFrame:
    """The rows as records for Spark's Kafka sink: topic, key, value (see :func:`.once.sink_value`), headers.

    ``sink``: the source that is written, or the topic of a transient query, whose values are JSON objects of all
    columns. Dead letters go to ``dead_topic`` with the bytes of the record and its place and reason in headers; late
    records likewise to a topic of their own, if the plan has one. A result without time by the sink's TIMESTAMP is
    a dead letter, too, with its own bytes. So is one that is no record any more, whose function in Python fails.
    ``at``: every record says where it came from; else only the JVM's class ``DeadLetters`` is told. ``tail``: what is
    there already is left out, if :func:`undone` did not do so. ``counted_as``: the name under which failed rows are
    counted, if not ``query_id``. ``in_order``: the rows are those of one batch, which several tasks work on; the
    records are written in the order of their times. ``in_step``: live, one task writes them in that order.
    """
    counted_as = counted_as or query_id
    timed = not isinstance(sink, str) and sink.timestamp is not None
    calls: Sequence[CallAhead] = ()
    if not in_order and in_step is None and rows.frame.isStreaming:  # of a batch, Spark may do without a job
        plan, calls = calls_ahead(plan, None if isinstance(sink, str) else sink.timestamp)
    columns = {o.name: _column(plan, o, counted_as) for o in plan.root.outputs}
    if not isinstance(sink, str):
        rows, called = _tried(plan, rows, columns)
        columns |= called
        rows = _timed(sink, plan, rows, called) if timed else rows
    rows = _placed(plan, rows, tail, counted_as) if not isinstance(sink, str) or tail is not None else rows
    rows = made_ahead(rows, calls)
    outputs = [Written(o.name, o.expr.type, columns[o.name]) for o in plan.root.outputs]
    by_name = {o.name: o for o in outputs}
    if isinstance(sink, str):
        topic, key = sink, "cast(null as binary)"
        value = f"cast({json_object(outputs)} as binary)"
        rowtime: str = Col.ROWTIME
    else:
        topic = sink.topic
        key = write(sink.key, [by_name[c.name] for c in sink.keys])
        if rows.shape.keyless:  # no key stays no key, it is not a record of nulls
            key = f"CASE WHEN NOT {Col.KEYLESS} THEN {key} END"
        elif plan.keeps_key and len(sink.keys) == 1 and not sink.key.bare:  # of a key that stood bare
            key = f"CASE WHEN {by_name[sink.keys[0].name].value} IS NOT NULL THEN {key} END"
        if sink.window is not None:
            bounds = [Col.WINDOW_END, Col.WINDOW_START] if sink.window.size is None else [Col.WINDOW_START]
            key = f"concat({key}, {', '.join(f'cast({b} as binary)' for b in bounds)})"
        value = write(sink.value, [by_name[c.name] for c in sink.values])
        rowtime = f"if({Col.UNTIMED} IS NULL, {Col.TIME}, {Col.ROWTIME})" if timed else Col.ROWTIME
    if tail is not None and plan.joined_by_key:
        over = tail.is_ahead(Col.AT, Col.AT_OFFSET, key)
        rows = rows.where(f"NOT CASE WHEN {Col.RAW} IS NULL THEN {over} ELSE false END")
    coordinates: tuple[str, ...] = ()
    seen, of_group = list[str](), list[str]()
    if at:
        coordinates = (Col.AT, Col.AT_OFFSET, Col.AT_WINDOW)
        seen, of_group = list(rows.shape.seen_of_tables), list(rows.shape.seen_of_group or rows.shape.progress)
    elif not isinstance(sink, str):
        coordinates = (f"(-1 - {Col.AT})", Col.AT_OFFSET, Col.AT_WINDOW)
    aside = rows.shape.untimed
    if aside:
        of_group = [f"CASE WHEN {Col.UNTIMED} IS NULL THEN {c} END" for c in of_group]
    time = f"CASE WHEN {Col.RAW} IS NULL THEN {rowtime} ELSE {Col.RAW}.ts END"
    sent = sink_value(
        time,
        f"CASE WHEN {Col.RAW} IS NOT NULL THEN {Col.RAW}.value WHEN NOT {Col.DELETED} THEN {value} END",
        coordinates, seen, of_group,
    )  # fmt: skip
    late_topic = plan.late_topic
    late = f" WHEN {Col.RAW}.late IS NOT NULL THEN {text.string(late_topic)}" if late_topic is not None else ""
    untimed = f"WHEN {Col.UNTIMED} IS NOT NULL THEN {text.string(dead_topic)} " if aside else ""
    had = Col.HEADERS if rows.shape.headers else None
    headers = f"WHEN {Col.RAW} IS NOT NULL THEN {_dead_letter(query_id, _RECORD, Col.REASON, had)}"
    if aside:
        letter = _dead_letter(query_id, _source(plan), Col.UNTIMED, had, result=topic)
        headers += f" WHEN {Col.UNTIMED} IS NOT NULL THEN {letter}"
    result, dead = text.string(topic), text.string(dead_topic)
    made = next((o for o in plan.root.outputs if o.header), None)
    if made is not None:  # as a column of it, a result without a value has none
        own = f" WHEN NOT {Col.DELETED} THEN {_headers(made.expr.type, by_name[made.name].value)}"
    else:
        own = f" ELSE {had}" if had else ""
    records = rows.frame.selectExpr(
        f"CASE {untimed}WHEN {Col.RAW} IS NULL THEN {result}{late} ELSE {dead} END AS topic",
        f"CASE WHEN {Col.RAW} IS NULL THEN {key} ELSE {Col.RAW}.key END AS key",
        f"{sent} AS value",
        f"CASE {headers}{own} END AS headers",
        *([f"{time} AS {Col.TIME}"] if in_order else []),
        # Its place is by the time of its row, also if the sink has another one.
        *([f"coalesce({Col.ROWTIME}, {Col.RAW}.ts, 0L) AS {Col.TIME}"] if in_step else []),
    )
    if in_step is not None:
        return _in_step(records, in_step)
    return _in_order(records) if in_order else records


@dataclass(frozen=True)
class InStep:
    """Results come from several executors: ``stage`` shuffles, ``tasks`` behind each."""

    stage: int
    tasks: int


def _in_step(records: DataFrame, step: InStep) -> DataFrame:
    """The records in one task, in the order of their times: producers of several executors would mix them."""
    sent = records.selectExpr(
        "*",
        f"{sent_to((), step.tasks, step.stage, Col.TIME)} AS {Col.SENT}",
        f"spark_partition_id() AS {Col.SENDER}",
    )
    rows = Rows(sent.repartition(1), RowShape(tuple(sent.columns)))
    return rows.in_step(step.stage, step.tasks, Col.SENT, Col.SENDER).drop(Col.TIME).frame


def _in_order(records: DataFrame) -> DataFrame:
    """The records of one batch in one task, by their times; those of one key as their task gives them."""
    turn = stream_time("hash(key)", f"coalesce({Col.TIME}, 0L)")
    turns = records.selectExpr("*", f"{turn} AS {Col.TURN}", f"monotonically_increasing_id() AS {Col.ROW}")
    sent = turns.repartition(1).sortWithinPartitions(Col.TURN, Col.ROW)
    return sent.drop(Col.TIME, Col.TURN, Col.ROW)


_RECORD = (f"{Col.RAW}.topic", f"{Col.RAW}.partition", f"{Col.RAW}.offset", f"{Col.RAW}.ts")


def _source(plan: Plan) -> tuple[str, str, str, str]:
    """Topic, partition and offset of the record that brought a result about, and the time of the row."""
    numbers = enumerate(plan.topics)
    topic = " ".join(f"WHEN {i} THEN {text.string(name)}" for i, name in numbers)
    return f"CASE shiftright({Col.PARTITION}, 16) {topic} END", f"{Col.PARTITION} & 65535", Col.OFFSET, Col.ROWTIME


def _dead_letter(query_id: str, place: Sequence[str], reason: str, had: str | None, *, result: str = "") -> str:
    """The headers of a dead letter: those that the record ``had``, then its own.

    ``place``: topic, partition, offset and time of the record that it comes of. ``result``: the topic of the result
    that it is.
    """
    topic, partition, offset, time = place
    named = {
        HEADERS["topic"]: topic,
        HEADERS["partition"]: f"cast({partition} as string)",
        HEADERS["offset"]: f"cast({offset} as string)",
        HEADERS["timestamp"]: f"cast({time} as string)",
        HEADERS["reason"]: reason,
        HEADERS["query"]: text.string(query_id),
    }
    if result:
        named[RESULT] = text.string(result)
    fields = [f"struct({text.string(n)} AS key, cast({v} as binary) AS value)" for n, v in named.items()]
    own = f"array({', '.join(fields)})"
    none = "cast(array() AS array<struct<key: string, value: binary>>)"
    return f"concat(coalesce({had}, {none}), {own})" if had else own


def _headers(kind: SqlType, value: str) -> str:
    """Spark text of the headers that a column stands for; those without a name are left out."""
    if isinstance(kind, MapType):
        return f"transform(map_entries({value}), h -> struct(h.key AS key, cast(h.value AS binary) AS value))"
    named = f"filter({value}, h -> h.KEY IS NOT NULL)"
    return f"transform({named}, h -> struct(h.KEY AS key, cast(h.VALUE AS binary) AS value))"


def undone(plan: Plan, records: DataFrame, tail: Tail | None) -> DataFrame:
    """The Kafka records without those whose only result is written, where nothing else comes of them.

    They are most of what a query reads again, and cost next to nothing here.
    """
    if tail is None or not plan.done_as_read:
        return records
    return records.where(f"{tail.position(source_place(plan, 'topic', 'partition'), 'offset', '0L')} IS NULL")


def _placed(plan: Plan, rows: Rows, tail: Tail | None, query_id: str) -> Rows:
    """Adds the source coordinates of each row, also of unread ones; leaves out the rows that the tail holds."""
    raw = source_place(plan, f"{Col.RAW}.topic", f"{Col.RAW}.partition")
    number = which_result(rows.shape, plan.window)
    as_letter = f"({UNTIMED} + {number})"
    if rows.shape.untimed and not plan.done_as_read:  # its place among dead letters orders no results
        number = f"if({Col.UNTIMED} IS NULL, {number}, {as_letter})"
    rows = rows.plus(
        (Col.AT, f"CASE WHEN {Col.RAW} IS NULL THEN {Col.PARTITION} ELSE {raw} END"),
        (Col.AT_OFFSET, f"CASE WHEN {Col.RAW} IS NULL THEN {Col.OFFSET} ELSE {Col.RAW}.offset END"),
        (Col.AT_WINDOW, number),
    )
    if tail is None or plan.done_as_read:
        return rows
    # A result that was too large for its topic is among the dead letters.
    written = tail.position(Col.AT, Col.AT_OFFSET, Col.AT_WINDOW)
    written = f"coalesce({written}, {tail.position(Col.AT, Col.AT_OFFSET, as_letter)})"
    # A row that a result had seen is done, with or without a result of its own. Where joined tables are grouped, what
    # was seen is of the join, and says nothing of the several results of a record.
    if rows.shape.seen_of_group and not plan.regroups_joined:
        done = tail.place_in_group(SEEN_GROUP, rows.shape.lane, reached_on_lane(rows.shape))
        written = f"coalesce(CASE WHEN {Col.RAW} IS NULL THEN {done} END, {written})"
    # Counted in a column, which keeps Spark from pushing it down: it would double with each branch of a union.
    return rows.plus(("__again", counted(query_id + ":again", f"{written} IS NOT NULL"))).where("NOT __again")


def _tried(plan: Plan, rows: Rows, columns: Mapping[str, str]) -> tuple[Rows, dict[str, str]]:
    """Rows whose functions with ON_ERROR = 'dead-letter' are called, and the columns that call them, by their names.

    Where a row failed, its record leaves as one that could not be read. A result of which no record is left leaves
    itself, as one without a time does.
    """
    calling = [o for o in plan.root.outputs if makes_letters(o.expr)]
    if not calling:
        return rows, {}
    texts = [columns[o.name] if o.key else f"CASE WHEN NOT {Col.DELETED} THEN {columns[o.name]} END" for o in calling]
    rows, made = tried_values(rows, texts, f"{Col.RAW} IS NULL")
    rows = set_aside(rows) if rows.shape.late else rows.plus((Col.UNTIMED, Col.FAILED)).drop(Col.FAILED)
    return rows, {o.name: c for o, c in zip(calling, made, strict=True)}


def _timed(sink: Source, plan: Plan, rows: Rows, made: Mapping[str, str]) -> Rows:
    """Adds ``__time`` of each result, by the column of the sink's TIMESTAMP, and ``__untimed``, why it has none.

    A tombstone has the time of its row. ``made``: columns that are made already.
    """
    output = next(o for o in plan.root.outputs if o.name == sink.timestamp)
    given = f"{Col.RAW} IS NULL AND NOT {Col.DELETED}"
    value = made.get(output.name) or spark_text(output.expr)
    rows = rows.plus(("__given", f"CASE WHEN {given} THEN {value} END"))
    time = time_of(sink, "__given")
    untimed = f"CASE WHEN {given} THEN {no_time(sink, '__given', time)} END"
    if rows.shape.untimed:
        rows = rows.plus(("__no_time", f"coalesce({Col.UNTIMED}, {untimed})")).drop(Col.UNTIMED)
        untimed = "__no_time"
    return rows.plus((Col.TIME, f"CASE WHEN {given} THEN {time} ELSE {Col.ROWTIME} END"), (Col.UNTIMED, untimed))


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
        expr, node = t.rewrite(expr, node.column), node.input
    keys = {r.internal(c.name) for r in plan.relations for c in r.source.keys}
    made_of = {e.name for e in t.walk(expr) if isinstance(e, t.ColumnRef)}
    return value if made_of <= keys else f"CASE WHEN NOT {Col.DELETED} THEN {value} END"


def sink_options(spec: QuerySpec, largest: int) -> dict[str, str]:
    """Options of Spark's Kafka sink for the query's only producer.

    ``largest``: no topic takes batches of less bytes.
    """
    # Fewer, larger requests where results come faster than they can be sent.
    options = {"kafka.linger.ms": "0", "kafka.batch.size": "131072", **spec.connection.spark_sink}
    return {
        **options,
        # A batch that the brokers refuse is split into batches of this size, again and again (KAFKA-8350).
        "kafka.batch.size": str(min(int(options["kafka.batch.size"]), largest)),
        "kafka.interceptor.classes": "ksqlpy.sink.SinkInterceptor,ksqlpy.sink.SenderRest",
        "kafka.client.id": spec.id,
        **client_figures(spec.id),
        **({f"kafka.{KEY_SETTING}": spec.keys[0]} if spec.keys else {}),
        # Brokers take any request for the first of a producer that is new to them. With several on their way, one
        # that has to be sent again while a broker starts is passed by later ones, and lost (KAFKA-15591).
        "kafka.max.in.flight.requests.per.connection": "1",
        # By default what could not be sent for two minutes is given up, and what was behind it is sent.
        "kafka.delivery.timeout.ms": str(2**31 - 1),
    }
