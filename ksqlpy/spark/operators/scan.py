"""Reads the records of a source: key, value, window, headers, event time; or says why it cannot."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.catalog import Column, KeySpec, Source
from ksqlpy.formats import KAFKA, present, read, text
from ksqlpy.formats.envelopes import read_as, unwrapped
from ksqlpy.plan.operators import Scan
from ksqlpy.spark.columns import Col
from ksqlpy.spark.eventtime import no_time, out_of_range, time_of
from ksqlpy.spark.once import HEADER, place
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.rows import Rows
from ksqlpy.types import BIGINT, BYTES, STRING

__all__ = ["build", "read_tables"]

_BOUND = KeySpec(KAFKA.name, (Column("WINDOWSTART", BIGINT),))
_WINDOW_START = read(_BOUND, f"substring({Col.RAW}.key, -8, 8)")
"""The start of the window in a windowed key: its last eight bytes (ksqlDB, windowed keys)."""

_SESSION_END = read(_BOUND, f"substring({Col.RAW}.key, -16, 8)")
"""The end of a session in a windowed key (Kafka Streams, SessionWindowedSerializer)."""


def build(node: Scan, context: Context, records: Rows, *, placed: bool = True) -> Rows:
    """Reads the raw rows of the scan's topic; all other rows stay as they are.

    ``placed``: the rows say which of the plan's topics they are from, too: those of several give results.
    """
    relation, source = node.relation, node.relation.source
    here, partition = f"{Col.REASON} IS NULL", f"{Col.RAW}.partition"
    if context.branch is not None:
        topic = text.string(source.topic)
        here = f"({Col.REASON} IS NULL AND {Col.BRANCH} <=> {context.branch} AND {Col.RAW}.topic <=> {topic})"
        partition = place(context.plan.topics.index(source.topic), partition)
    elif context.several:
        copy = f" AND {Col.BRANCH} <=> {context.copies[relation]}" if relation in context.copies else ""
        here = f"({Col.REASON} IS NULL AND {Col.RAW}.topic <=> {text.string(source.topic)}{copy})"
        if placed:
            partition = place(context.plan.topics.index(source.topic), partition)
    key, value = source.key, source.value
    key_bytes = f"{Col.RAW}.key"
    if source.window is not None:
        key_bytes = f"substring({Col.RAW}.key, 1, length({Col.RAW}.key) - {source.window.key_bytes})"
    parts = [
        (name, read(read_as(source, spec) or spec, data))
        for name, spec, data in (("__of_value", value, f"{Col.RAW}.value"), ("__of_key", key, key_bytes))
        if present(spec)
    ]
    if source.window is not None:
        parts.append(("__w", _WINDOW_START))
        if source.window.size is None:
            parts.append(("__wx", _SESSION_END))
    # Reading may come after a column of an earlier scan is there: keep what rows have so far.
    kept = records.shape.without(Col.RAW, Col.REASON)
    rows = records.select(
        *records.shape.columns,
        *((n, f"CASE WHEN {here} THEN {call} END") for n, call in parts),
        ("__here", here),
    )
    within = {
        n: unwrapped(source, s, n)
        for n, s in (("__of_value", value), ("__of_key", key))
        if read_as(source, s) is not None
    }
    if within:
        rows = rows.select(*((n, within[n]) if n in within else n for n in rows.shape.columns))
    columns = []
    for part, prefix in ((key, "__of_key"), (value, "__of_value")):
        for i, c in enumerate(part.columns):
            columns.append((c.name, f"{prefix}.row" if part.bare else text.field(f"{prefix}.row", i)))
    columns += [(c.name, _header_value(c)) for c in source.headers]
    empty = f"{Col.RAW}.value IS NULL" if not present(value) else f"({Col.RAW}.value IS NULL OR __of_value.row IS NULL)"
    time, time_error = _time(source, dict(columns), empty)
    errors = [f"'key: ' || {n}.error" if n == "__of_key" else f"{n}.error" for n, _ in parts]
    if source.kind == "TABLE":
        # In a record some columns may be null: only without the record there is no key. The key of a change event is
        # that of a row in a database, where none is null.
        alone = key.bare or (source.envelope and len(source.keys) == 1)
        missing = dict(columns)[source.keys[0].name] if alone else "__of_key.row"
        errors.append(f"CASE WHEN {missing} IS NULL THEN 'the key of a table record is null' END")
    if time_error:
        errors.append(_thrown(time_error) if context.plan.strict_time else time_error)
    # No window holds it, and what no broker takes has no result with its time.
    errors.append(out_of_range(time))
    error = f"coalesce({', '.join(errors)})" if len(errors) > 1 else errors[0]
    columns.append(("ROWTIME", time))
    # Of a stream in a join: the columns ROWPARTITION and ROWOFFSET of rows are those of the join's result.
    columns += [("ROWPARTITION", f"{Col.RAW}.partition"), ("ROWOFFSET", f"{Col.RAW}.offset")]
    fresh = [(n, at) for c, at in columns if (n := relation.internal(c)) in context.used]
    system = {
        Col.ROWTIME: time,
        Col.PARTITION: partition,
        Col.OFFSET: f"{Col.RAW}.offset",
        Col.DELETED: empty,
    }
    if source.window is not None:
        end = "__wx.row" if source.window.size is None else f"__w.row + {source.window.size}"
        system |= {Col.WINDOW_START: "__w.row", Col.WINDOW_END: end}
    if context.plan.keeps_key and any(r.source.keys and not r.source.key.bare for r in context.plan.relations):
        system[Col.KEYLESS] = "__of_key.row IS NULL"
    rows = rows.plus(("__error", f"CASE WHEN __here THEN {error} END"))
    read_now = "(__here AND __error IS NULL)"
    if relation in context.plan.streams and (context.plan.late_topic is not None or context.carries_records):
        system[Col.CAME] = f"CASE WHEN {read_now} THEN {Col.RAW} END"
    out: list[str | tuple[str, str]] = [*fresh]
    for name, fresh_value in system.items():
        known = f"CASE WHEN {read_now} THEN {fresh_value} ELSE {name} END"
        out.append((name, known if name in kept else fresh_value))
    out += [c for c in kept if c not in system]
    out.append((Col.RAW, f"CASE WHEN NOT {read_now} THEN {Col.RAW} END"))
    out.append((Col.REASON, f"coalesce({Col.REASON}, __error)"))
    if context.several:
        out.append((Col.READ, read_now))
    return rows.select(*out)


def read_tables(tables: Sequence[Scan], context: Context, rows: Rows) -> Rows:
    """Reads the records of tables to be joined; ``__side`` is the number of a row's table, null for all other rows."""
    for number, table in enumerate(tables):
        rows = build(table, context, rows.drop(Col.READ), placed=False)
        before = Col.SIDE if number else "cast(null as int)"
        others = rows.shape.without(Col.SIDE)
        rows = rows.select(*others, (Col.SIDE, f"CASE WHEN {Col.READ} THEN {number} ELSE {before} END"))
    return rows.drop(Col.READ)


def _time(source: Source, columns: dict[str, str], empty: str) -> tuple[str, str | None]:
    """Spark text of ROWTIME in ms, and of the error where it cannot be told."""
    if source.timestamp is None:
        return f"{Col.RAW}.ts", None
    value = columns[source.timestamp]
    at = time_of(source, value)
    return (
        f"CASE WHEN {empty} THEN {Col.RAW}.ts ELSE {at} END",
        f"CASE WHEN NOT {empty} THEN {no_time(source, value, at)} END",
    )


def _thrown(error: str) -> str:
    """Spark text that ends the query with the error, if there is one."""
    return f"CASE WHEN {error} IS NOT NULL THEN cast(raise_error({error}) AS string) END"


def _header_value(column: Column) -> str:
    """Spark text of a column that holds headers; those that ksqlpy adds are not seen."""
    assert column.header is not None
    if column.header.key is not None:
        found = f"filter({Col.RAW}.headers, h -> h.key = {text.string(column.header.key)})"
        value = f"try_element_at({found}, -1).value"
        if column.type == BYTES:
            return value
        said = f"cast({value} as string)"  # a header of ksqlpy's own, which is text
        return said if column.type == STRING else f"try_cast({said} as {column.type})"
    shown = f"filter({Col.RAW}.headers, h -> h.key != {text.string(HEADER)})"
    given = f"transform({shown}, h -> named_struct('KEY', h.key, 'VALUE', h.value))"
    return f"coalesce({given}, cast(array() as array<struct<KEY: string, VALUE: binary>>))"
