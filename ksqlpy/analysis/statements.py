"""Statements that make or fill sources: what they will do, checked whole before anything is done.

Sources of the rules: ksqlDB's CREATE STREAM/TABLE, CREATE … AS SELECT, INSERT VALUES and the WITH properties.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.expressions import NULL, ExpressionAnalyzer, castable, coerce
from ksqlpy.analysis.properties import SourceProperties, read_properties
from ksqlpy.analysis.query import Grouping, TypedQuery, analyze_query
from ksqlpy.analysis.scope import Scope, Text, find_source
from ksqlpy.catalog import Catalog, Column, Source, WindowKey
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, similar_names
from ksqlpy.functions.times import time_of_text
from ksqlpy.sql import Parsed, nodes, to_sql
from ksqlpy.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
    widens_to,
)

__all__ = [
    "CreateAs",
    "Declare",
    "Insert",
    "TopicWish",
    "analyze_create",
    "analyze_insert",
    "check_formats",
    "declared_columns",
    "inserted",
    "refuse_read_only",
]

_SOURCE_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True)
class TopicWish:
    """What a statement says of its topic; None where it says nothing. ``retention_ms``: -1 keeps records for ever."""

    name: str
    partitions: int | None
    replicas: int | None
    retention_ms: int | None


@dataclass(frozen=True)
class Declare:
    """CREATE STREAM or TABLE with columns."""

    source: Source
    topic: TopicWish


@dataclass(frozen=True)
class CreateAs:
    """CREATE STREAM or TABLE AS SELECT; ``source`` is the sink, without the id of its query.

    ``query_id``: the id that QUERY_ID asks for, if it does.
    """

    source: Source
    topic: TopicWish
    query: TypedQuery
    query_id: str | None = None


@dataclass(frozen=True)
class Insert:
    """INSERT VALUES: an expression without columns for every column of the source, and the time if given."""

    source: Source
    values: tuple[t.Expr, ...]
    rowtime: t.Expr | None


def analyze_create(parsed: Parsed, catalog: Catalog, config: Config) -> Declare | CreateAs:
    """What a CREATE STREAM or TABLE statement makes; the name may exist already (that is for the caller to judge).

    Raises AnalysisProblem or ConfigProblem.
    """
    node, text = parsed.node, Text(parsed.sql)
    assert isinstance(node, nodes.CreateSource)
    name: str = node.this.this
    if not _SOURCE_NAME.match(name):
        text.refuse("bad-name", "the name of a source may hold letters, digits, _ and - only", node.this)
    properties = read_properties(node.args.get("properties") or [], text, declares=node.args.get("query") is None)
    if node.args.get("query") is not None:
        return _create_as(parsed, node, properties, catalog, config, text)
    return _declare(parsed, node, properties, catalog, config, text)


# ---------------------------------------------------------------- CREATE with columns


def _declare(
    parsed: Parsed,
    node: nodes.CreateSource,
    properties: SourceProperties,
    catalog: Catalog,
    config: Config,
    text: Text,
) -> Declare:
    name, kind = node.this.this, node.args["kind"]
    specs = node.args.get("columns") or []
    if not specs:
        text.refuse(
            "no-columns",
            f"{name} has no columns",
            node.this,
            hint="list them: CREATE STREAM s (ID INT KEY, V STRING) …",
        )
    columns = _columns(specs, kind, catalog, text)
    if properties.topic is None:
        text.refuse("no-topic", "WITH needs KAFKA_TOPIC, the topic that holds the records", node.this)
    value_format = properties.value_format or config.get("ksql.persistence.default.format.value")
    if not value_format:
        text.refuse(
            "no-format", "WITH needs VALUE_FORMAT, the format of the values", node.this, hint="for example JSON"
        )
    keys = [c for c in columns if c.key]
    key_format = properties.key_format or ("NONE" if not keys else config.get("ksql.persistence.default.format.key"))
    source = Source(
        name,
        kind,
        properties.topic,
        columns,
        key_format,
        value_format,
        parsed.text,
        timestamp=_timestamp(properties, columns, text),
        timestamp_format=properties.timestamp_format,
        window=properties.window,
        wrapped=_wrapped(properties, value_format, columns, text, node),
        read_only=bool(node.args.get("source")),
    )
    check_formats(source, text, node.this)
    return Declare(source, TopicWish(source.topic, properties.partitions, properties.replicas, properties.retention_ms))


def _columns(specs: Sequence[exp.Expr], kind: str, catalog: Catalog, text: Text) -> tuple[Column, ...]:
    columns = declared_columns(specs, catalog, text, kind)
    if kind == "TABLE" and not any(c.key for c in columns):
        text.refuse("no-primary-key", "a table needs a PRIMARY KEY column", specs[0])
    return tuple([c for c in columns if c.key] + [c for c in columns if not c.key])


def declared_columns(
    specs: Sequence[exp.Expr], catalog: Catalog, text: Text, kind: str = "STREAM"
) -> tuple[Column, ...]:
    """The columns as written, in their order, for a source of this kind; raises AnalysisProblem."""
    columns: list[Column] = []
    types = ExpressionAnalyzer(Scope((), types=catalog.types), text)
    for spec in specs:
        name, constraint = spec.this.this, spec.args.get("constraint")
        if name in t.SYSTEM:
            text.refuse("reserved-name", f"{name} is a pseudo column and cannot be declared", spec.this)
        if any(c.name == name for c in columns):
            text.refuse("duplicate-column", f"column {name} is declared twice", spec.this)
        wanted = "KEY" if kind == "STREAM" else "PRIMARY KEY"
        if constraint is not None and constraint != wanted:
            text.refuse(
                "wrong-key", f"the key of a {kind.lower()} is marked {wanted}", spec, hint=f"write {name} … {wanted}"
            )
        columns.append(Column(name, types.data_type(spec.args["type"]), constraint is not None))
    return tuple(columns)


def _timestamp(properties: SourceProperties, columns: Sequence[Column], text: Text) -> str | None:
    if properties.timestamp is None:
        return None
    column = next((c for c in columns if c.name == properties.timestamp), None)
    node = properties.nodes["TIMESTAMP"]
    if column is None:
        text.refuse(
            "unknown-column",
            f"TIMESTAMP names no column: {properties.timestamp}",
            node,
            similar=similar_names(properties.timestamp, [c.name for c in columns]),
        )
    wanted: tuple[SqlType, ...] = (STRING,) if properties.timestamp_format else (BIGINT, TIMESTAMP)
    if column.type not in wanted:
        text.refuse(
            "bad-timestamp",
            f"TIMESTAMP needs a column of type {' or '.join(map(str, wanted))}, {column.name} is {column.type}",
            node,
            hint="a STRING column needs TIMESTAMP_FORMAT" if column.type == STRING else None,
        )
    if properties.timestamp_format is not None:
        at = properties.nodes["TIMESTAMP_FORMAT"]
        try:
            legal = time_of_text("", properties.timestamp_format) is not None
        except AnalysisProblem as e:
            e.span, e.sql = text.span(at), text.sql
            raise
        if not legal:
            text.refuse("bad-timestamp", "TIMESTAMP_FORMAT is no pattern of Java's DateTimeFormatter", at)
    return column.name


def _wrapped(
    properties: SourceProperties, value_format: str, columns: Sequence[Column], text: Text, node: exp.Expr
) -> bool:
    values = [c for c in columns if not c.key]
    if properties.wrapped is None:
        return value_format != "KAFKA"
    at = properties.nodes["WRAP_SINGLE_VALUE"]
    if len(values) != 1:
        text.refuse("bad-wrapping", "WRAP_SINGLE_VALUE is for a single value column", at)
    if value_format == "KAFKA":
        text.refuse("bad-wrapping", "format KAFKA has no wrapping", at)
    return properties.wrapped


def check_formats(source: Source, text: Text, node: exp.Expr) -> None:
    """Refuses columns that their format cannot carry; raises AnalysisProblem ``bad-format``."""
    keys, values = source.keys, source.values
    if source.key_format == "NONE" and keys:
        text.refuse("bad-format", "key format NONE cannot carry the key column " + keys[0].name, node)
    if source.key_format == "KAFKA" and len(keys) > 1:
        text.refuse(
            "bad-format",
            "format KAFKA carries one key column, there are " + str(len(keys)),
            node,
            hint="WITH (KEY_FORMAT = 'JSON') carries several",
        )
    if source.value_format == "KAFKA" and len(values) != 1:
        text.refuse("bad-format", "format KAFKA carries one value column", node, hint="use VALUE_FORMAT = 'JSON'")
    for part, columns, fmt in (("key", keys, source.key_format), ("value", values, source.value_format)):
        for c in columns:
            if fmt == "KAFKA" and c.type not in (INTEGER, BIGINT, DOUBLE, STRING, BYTES):
                text.refuse("bad-format", f"format KAFKA cannot carry the {part} column {c.name} {c.type}", node)
            if part == "key" and _holds_map(c.type):
                text.refuse("bad-format", f"a MAP cannot be in a key: column {c.name} {c.type}", node)
            if _odd_map(c.type):
                text.refuse("bad-format", f"format {fmt} carries maps with STRING keys only: column {c.name}", node)


def _holds_map(type_: SqlType) -> bool:
    if isinstance(type_, ArrayType):
        return _holds_map(type_.item)
    if isinstance(type_, StructType):
        return any(_holds_map(f) for _, f in type_.fields)
    return isinstance(type_, MapType)


def _odd_map(type_: SqlType) -> bool:
    if isinstance(type_, ArrayType):
        return _odd_map(type_.item)
    if isinstance(type_, StructType):
        return any(_odd_map(f) for _, f in type_.fields)
    return isinstance(type_, MapType) and (type_.key != STRING or _odd_map(type_.value))


# ---------------------------------------------------------------- CREATE … AS SELECT


def _create_as(
    parsed: Parsed,
    node: nodes.CreateSource,
    properties: SourceProperties,
    catalog: Catalog,
    config: Config,
    text: Text,
) -> CreateAs:
    name, kind = node.this.this, node.args["kind"]
    if node.args.get("columns"):
        text.refuse(
            "columns-and-query", "the columns of a query's result come from its SELECT", node.args["columns"][0]
        )
    query = analyze_query(node.args["query"], catalog, text, persistent=True)
    if query.kind != kind:
        hint = (
            f"write CREATE {query.kind}" if query.kind == "TABLE" else "write CREATE STREAM, or GROUP BY to get a table"
        )
        text.refuse(
            "wrong-kind", f"this query gives a {query.kind.lower()}, not a {kind.lower()}", node.this, hint=hint
        )
    left = query.relations[0].source
    columns = query.columns
    key_format = properties.key_format or left.key_format
    has_key = any(c.key for c in columns)
    if not has_key:
        key_format = "NONE"
    elif key_format == "NONE":
        key_format = config.get("ksql.persistence.default.format.key")
    value_format = properties.value_format or left.value_format
    window = None
    if isinstance(query.grouping, Grouping) and query.grouping.window is not None:
        window = WindowKey(query.grouping.window.kind, query.grouping.window.size)
    source = Source(
        name,
        kind,
        properties.topic or config.get("ksql.output.topic.name.prefix") + name,
        columns,
        key_format,
        value_format,
        parsed.text,
        timestamp=_timestamp(properties, columns, text),
        timestamp_format=properties.timestamp_format,
        window=window,
        wrapped=_wrapped(properties, value_format, columns, text, node),
    )
    check_formats(source, text, node.this)
    if source.topic in {r.source.topic for r in query.relations}:
        text.refuse("same-topic", f"the result would be written into its own source topic {source.topic}", node.this)
    return CreateAs(
        source,
        TopicWish(source.topic, properties.partitions, properties.replicas, properties.retention_ms),
        query,
        properties.query_id,
    )


# ---------------------------------------------------------------- INSERT VALUES


def refuse_read_only(source: Source, text: Text, node: exp.Expr) -> None:
    """Refuses to write a source of CREATE SOURCE; raises AnalysisProblem ``read-only``."""
    if source.read_only:
        what = f"{source.kind.lower()} {source.name}"
        hint = "declare a second one over the topic without SOURCE"
        text.refuse("read-only", f"{what} was made with CREATE SOURCE and can only be read", node, hint=hint)


def analyze_insert(parsed: Parsed, catalog: Catalog) -> Insert:
    """What an INSERT … VALUES writes; raises AnalysisProblem."""
    node, text = parsed.node, Text(parsed.sql)
    assert isinstance(node, nodes.InsertValues)
    source = find_source(catalog, node.this, text)
    refuse_read_only(source, text, node.this)
    if source.window is not None:
        text.refuse("windowed-source", f"{source.name} has a windowed key, records cannot be inserted", node.this)
    targets = _targets(node, source, text)
    values = node.expressions
    if len(values) != len(targets):
        text.refuse("value-count", f"{len(targets)} columns, but {len(values)} values", values[-1])
    analyzer = ExpressionAnalyzer(Scope((), types=catalog.types), text)
    given: dict[str, t.Expr] = {}
    for column, value in zip(targets, values, strict=True):
        given[column.name] = inserted(analyzer.analyze(value, place="in VALUES"), column, value, text)
    missing = [c.name for c in source.keys if _is_null(given.get(c.name))]
    if source.kind == "TABLE" and missing:
        text.refuse("no-key", f"a record of a table needs its key: {', '.join(missing)}", node)
    rowtime = given.pop("ROWTIME", None)
    return Insert(source, tuple(given.get(c.name, t.Literal(c.type, None)) for c in source.columns), rowtime)


def _is_null(value: t.Expr | None) -> bool:
    return value is None or (isinstance(value, t.Literal) and value.value is None)


def _targets(node: nodes.InsertValues, source: Source, text: Text) -> list[Column]:
    named = node.args.get("columns")
    if not named:
        return list(source.columns)
    targets: list[Column] = []
    for identifier in named:
        name: str = identifier.this
        column = Column("ROWTIME", BIGINT) if name == "ROWTIME" else source.column(name)
        if column is None:
            text.refuse(
                "unknown-column",
                f"{source.name} has no column {name}",
                identifier,
                similar=similar_names(name, [c.name for c in source.columns]),
            )
        if column in targets:
            text.refuse("duplicate-column", f"column {name} is named twice", identifier)
        targets.append(column)
    return targets


def inserted(value: t.Expr, column: Column, node: exp.Expr, text: Text) -> t.Expr:
    """The value as the column's type; literals are read more loosely than other expressions. AnalysisProblem."""
    if value.type == NULL:
        return t.Literal(column.type, None)
    literal = isinstance(value, t.Literal)
    if literal and isinstance(value.value, int) and not isinstance(value.value, bool):  # type: ignore[attr-defined]
        limit = {INTEGER: 2**31, BIGINT: 2**63}.get(column.type)  # type: ignore[call-overload]
        if limit is not None and not -limit <= value.value < limit:  # type: ignore[attr-defined]
            text.refuse("number-too-large", f"{to_sql(node)} does not fit column {column.name} {column.type}", node)
    if widens_to(value.type, column.type):
        return coerce(value, column.type)
    if (literal or isinstance(value, t.StructOf)) and castable(value.type, column.type):
        return t.Cast(column.type, value)
    text.refuse(
        "wrong-type", f"column {column.name} is {column.type}, the value is {value.type}", node, hint="CAST the value"
    )
