"""Statements that make sources: what they will do, checked whole before anything is done.

Sources of the rules: ksqlDB's CREATE STREAM/TABLE, CREATE … AS SELECT and the WITH properties.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.formats import check_formats
from ksqlpy.analysis.inference import Samples, infer
from ksqlpy.analysis.properties import SourceProperties, read_properties
from ksqlpy.analysis.query import analyze_query
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.analysis.schemas import check_envelope, refuse_both, registry_of, with_schemas
from ksqlpy.analysis.scope import Text
from ksqlpy.analysis.typenames import data_type
from ksqlpy.catalog import HEADERS_TYPE, Catalog, Column, Header, Source, SourceKind, ValueSpec
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, similar_names
from ksqlpy.formats import FORMATS, NONE, key_spec
from ksqlpy.formats.envelopes import keyed
from ksqlpy.functions.patterns import is_pattern
from ksqlpy.sql import Parsed, nodes, to_sql
from ksqlpy.topicnames import checked_topic_name
from ksqlpy.types import (
    BIGINT,
    BYTES,
    INTEGER,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)

__all__ = [
    "CreateAs",
    "Declare",
    "TopicSpec",
    "analyze_create",
    "declared_columns",
]

_SOURCE_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True)
class TopicSpec:
    """What a statement says of its topic; None where it says nothing. ``retention_ms``: -1 keeps records for ever."""

    name: str
    partitions: int | None
    replicas: int | None
    retention_ms: int | None


@dataclass(frozen=True)
class Declare:
    """CREATE STREAM or TABLE without a query; ``inferred``: what was inferred from records, a sentence each."""

    source: Source
    topic: TopicSpec
    inferred: tuple[str, ...] = ()


@dataclass(frozen=True)
class CreateAs:
    """CREATE STREAM or TABLE AS SELECT; ``source`` is the sink, without the id of its query.

    ``query_id``: the id that QUERY_ID asks for, if it does.
    """

    source: Source
    topic: TopicSpec
    query: TypedQuery
    query_id: str | None = None


def analyze_create(
    parsed: Parsed, catalog: Catalog, config: Config, samples: Samples | None = None
) -> Declare | CreateAs:
    """What a CREATE STREAM or TABLE statement makes; the name may exist already (that is for the caller to judge).

    ``samples``: records of topics, for a statement that leaves out formats or columns; None where there are none to be
    had. Raises AnalysisProblem or ConfigProblem, and EngineProblem where brokers or schema registry do not answer.
    """
    node, text = parsed.node, Text.of(parsed.sql, catalog)
    assert isinstance(node, nodes.CreateSource)
    name: str = node.this.this
    if not _SOURCE_NAME.match(name):
        text.refuse("bad-name", "the name of a source may hold letters, digits, _ and - only", node.this)
    properties = read_properties(node.args.get("properties") or [], text, declares=node.args.get("query") is None)
    if node.args.get("query") is not None:
        return _create_as(parsed, node, properties, catalog, config, text)
    return _declare(parsed, node, properties, config, samples, text)


# ---------------------------------------------------------------- CREATE with columns


def _declare(
    parsed: Parsed,
    node: nodes.CreateSource,
    properties: SourceProperties,
    config: Config,
    samples: Samples | None,
    text: Text,
) -> Declare:
    name, kind = node.this.this, node.args["kind"]
    specs = node.args.get("columns") or []
    named = (
        properties.key_format or _default_format("key", config),
        properties.value_format or _default_format("value", config),
    )
    refuse_both(specs, properties, named, text)
    registry = registry_of(config)
    listed = declared_columns(specs, text, kind)
    try:
        found = infer(kind, listed, properties, config, registry, samples)
    except AnalysisProblem as e:  # what the schema registry and records say has no place yet
        e.span, e.sql = text.span(node.this), text.sql
        raise
    if not specs and not found.columns:
        text.refuse(
            "no-columns",
            f"{name} has no columns",
            node.this,
            hint=f"list them: CREATE STREAM s (ID INT KEY, V STRING) …{'' if samples is not None else _INFERS}",
        )
    columns = _columns(node, listed, found.columns, text, windowed=properties.window is not None)
    if properties.topic is None:
        text.refuse("no-topic", "WITH needs KAFKA_TOPIC, the topic that holds the records", node.this)
    key_format, value_format = found.key_format, found.value_format
    if not value_format:
        hint = f"for example JSON{'' if samples is not None else _INFERS}"
        text.refuse("no-format", "WITH needs VALUE_FORMAT, the format of the values", node.this, hint=hint)
    key_delimiter, value_delimiter = _delimiters(properties, (key_format, value_format), None, text)
    wrapped = bool(properties.envelope) or _wrapped(properties, value_format, columns, config, text)
    key = key_spec(key_format, delimiter=key_delimiter)
    if properties.envelope:
        check_envelope(kind, value_format, columns, properties, text)
        key = replace(key, wrapped=keyed(key_format))
    source = Source(
        name,
        kind,
        properties.topic,
        columns,
        key,
        ValueSpec(value_format, delimiter=value_delimiter, wrapped=wrapped),
        parsed.text,
        timestamp=_timestamp(properties, columns, text),
        timestamp_format=properties.timestamp_format,
        window=properties.window,
        read_only=bool(node.args.get("source")),
        envelope=properties.envelope,
    )
    source = with_schemas(source, properties, registry, text, of_query=False)
    check_formats(source, text, node.this, properties.nodes)
    return Declare(source, _topic_spec(source, properties, text), found.told)


_INFERS = "; CREATE infers this where it can read the topic's records"


def _default_format(part: str, config: Config) -> str:
    """The format of keys or values where none is named; empty if there is none."""
    return config.get(f"ksql.persistence.default.format.{part}")


def _columns(
    node: nodes.CreateSource, listed: Sequence[Column], inferred: Sequence[Column], text: Text, *, windowed: bool
) -> tuple[Column, ...]:
    kind, specs = node.args["kind"], node.args.get("columns") or []
    taken = {*t.SYSTEM, *(c.name for c in listed)}
    for c in inferred:
        if c.name in taken:
            text.refuse(
                "duplicate-column",
                f"the records of the topic have a column {c.name} already",
                node.this,
                hint="list all columns",
            )
        taken.add(c.name)
    columns = (*listed, *inferred)
    at = specs[0] if specs else node.this
    if windowed and not any(c.key for c in columns):
        text.refuse("no-key", "a source with windows needs a key column", at, hint="a window is part of the key")
    if kind == "TABLE" and not any(c.key for c in columns):
        text.refuse("no-primary-key", "a table needs a PRIMARY KEY column", at)
    return tuple(sorted(columns, key=lambda c: 0 if c.key else 1 if c.header is None else 2))


def declared_columns(specs: Sequence[exp.Expr], text: Text, kind: str = "STREAM") -> tuple[Column, ...]:
    """The columns as written, in their order, for a source of this kind; raises AnalysisProblem."""
    columns: list[Column] = []
    for spec in specs:
        name, constraint = spec.this.this, spec.args.get("constraint")
        type_ = data_type(spec.args["type"], text)
        if name in t.SYSTEM:
            text.refuse("reserved-name", f"{name} is a pseudo column and cannot be declared", spec.this)
        if any(c.name == name for c in columns):
            text.refuse("duplicate-column", f"column {name} is declared twice", spec.this)
        if constraint in ("HEADERS", "HEADER"):
            columns.append(_header_column(name, type_, spec, columns, text))
            continue
        wanted = "KEY" if kind == "STREAM" else "PRIMARY KEY"
        if constraint is not None and constraint != wanted:
            text.refuse(
                "wrong-key", f"the key of a {kind.lower()} is marked {wanted}", spec, hint=f"write {name} … {wanted}"
            )
        columns.append(Column(name, type_, constraint is not None))
    return tuple(columns)


_OWN_HEADERS = "ksqlpy."
"""Begins the names of the headers that ksqlpy adds to dead letters, whose values are text."""

_TEXT_TYPES = (STRING, INTEGER, BIGINT)
"""Types in which a column may hold one of them; BYTES as with all others."""


def _header_column(name: str, type_: SqlType, spec: exp.Expr, others: Sequence[Column], text: Text) -> Column:
    """A column that holds all headers of the record, or the last one of a name."""
    key: str | None = spec.args["header"].this if spec.args["constraint"] == "HEADER" else None
    marked = "HEADERS" if key is None else f"HEADER({to_sql(spec.args['header'])})"
    wanted = HEADERS_TYPE if key is None else BYTES
    if type_ != wanted and not (key is not None and key.startswith(_OWN_HEADERS) and type_ in _TEXT_TYPES):
        text.refuse(
            "wrong-type",
            f"a column marked {marked} is of type {wanted}, not {type_}",
            spec,
            hint=f"{name} {wanted} {marked}",
        )
    clash = next((c for c in others if c.header is not None and (key is None or c.header.key is None)), None)
    if clash is not None:
        text.refuse(
            "header-columns",
            f"{clash.name} takes headers already: a source has one HEADERS column, or HEADER('…') columns",
            spec,
        )
    twice = next((c for c in others if c.header is not None and c.header.key == key), None)
    if twice is not None:
        text.refuse("header-columns", f"{twice.name} takes the header {key} already", spec)
    return Column(name, type_, header=Header(key))


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
        if not is_pattern(properties.timestamp_format):
            text.refuse("bad-timestamp", "TIMESTAMP_FORMAT is no pattern of Java's DateTimeFormatter", at)
    return column.name


def _wrapped(
    properties: SourceProperties, value_format: str, columns: Sequence[Column], config: Config, text: Text
) -> bool:
    values = [c for c in columns if not c.key and c.header is None]
    given = properties.wrapped
    if given is not None:
        at = properties.nodes["WRAP_SINGLE_VALUE"]
        if len(values) != 1:
            text.refuse("bad-wrapping", "WRAP_SINGLE_VALUE is for a single value column", at)
        if given not in FORMATS[value_format].limits.wraps:
            text.refuse("bad-wrapping", f"format {value_format} knows no WRAP_SINGLE_VALUE = {str(given).lower()}", at)
    default = config.get("ksql.persistence.wrap.single.values")
    return FORMATS[value_format].wrapped(given, default, len(values))


def _delimiters(
    properties: SourceProperties, formats: tuple[str, str], left: Source | None, text: Text
) -> tuple[str, str]:
    """The delimiters of key and value; of a query's result those of its left-most source, if it has the same format."""
    found = []
    given = (properties.key_delimiter, properties.value_delimiter)
    theirs = (left.key, left.value) if left else (None, None)
    for name, part, format_, own, other in zip(("KEY", "VALUE"), ("key", "value"), formats, given, theirs, strict=True):
        if own is not None and not FORMATS[format_].limits.delimited:
            at = properties.nodes[f"{name}_DELIMITER"]
            text.refuse("invalid-property", f"{name}_DELIMITER is for format DELIMITED, the {part} is {format_}", at)
        inherited = other.delimiter if other is not None and other.format == format_ else ","
        found.append(own if own is not None else inherited)
    return found[0], found[1]


def _topic_spec(source: Source, properties: SourceProperties, text: Text) -> TopicSpec:
    if properties.retention_ms is not None and source.kind == "TABLE" and source.window is None:
        text.refuse(
            "invalid-property",
            "RETENTION_MS is for streams and windowed tables: the topic of a table keeps the last record of each key",
            properties.nodes["RETENTION_MS"],
        )
    return TopicSpec(source.topic, properties.partitions, properties.replicas, properties.retention_ms)


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

    def check_kind(given: SourceKind) -> None:
        if given != kind:
            hint = "write CREATE TABLE" if given == "TABLE" else "write CREATE STREAM, or GROUP BY to get a table"
            message = f"this query gives a {given.lower()}, not a {kind.lower()}"
            text.refuse("wrong-kind", message, node.this, hint=hint)

    query = analyze_query(node.args["query"], catalog, text, persistent=True, config=config, check_kind=check_kind)
    if properties.headers is not None:
        query = _with_headers(query, properties.headers, properties.nodes["HEADERS"], text)
    left = query.relations[0].source
    columns = query.columns
    has_key = any(c.key for c in columns)
    if not has_key and "KEY_FORMAT" in properties.nodes and properties.key_format != NONE.name:
        at = properties.nodes["KEY_FORMAT"]
        text.refuse("bad-format", f"key format {properties.key_format} for a result without key columns", at)
    key_format = properties.key_format or left.key.format
    if not has_key:
        key_format = NONE.name
    elif key_format == NONE.name and properties.key_format is None:
        key_format = _default_format("key", config)
    value_format = properties.value_format or left.value.format
    key_delimiter, value_delimiter = _delimiters(properties, (key_format, value_format), left, text)
    wrapped = _wrapped(properties, value_format, columns, config, text)
    source = Source(
        name,
        kind,
        properties.topic or config.get("ksql.output.topic.name.prefix") + name,
        columns,
        key_spec(key_format, delimiter=key_delimiter),
        ValueSpec(value_format, delimiter=value_delimiter, wrapped=wrapped),
        parsed.text,
        timestamp=_timestamp(properties, columns, text),
        timestamp_format=properties.timestamp_format,
        window=query.window,
    )
    source = with_schemas(source, properties, registry_of(config), text, of_query=True)
    check_formats(source, text, node.this, properties.nodes)
    try:
        checked_topic_name(source.topic)
    except ValueError as e:
        text.refuse("bad-name", f"{source.topic[:20]}… is not {e}", node.this, hint="name one with KAFKA_TOPIC")
    if source.topic in {s.topic for s in query.sources}:
        text.refuse("same-topic", f"the result would be written into its own source topic {source.topic}", node.this)
    spec = _topic_spec(source, properties, text)
    spec = replace(
        spec,
        partitions=spec.partitions or config.number("ksql.sink.partitions") or None,
        replicas=spec.replicas or config.number("ksql.sink.replicas") or None,
    )
    return CreateAs(source, spec, query, properties.query_id)


def _with_headers(query: TypedQuery, name: str, place: exp.Expr, text: Text) -> TypedQuery:
    """The query whose column of that name is written as headers; raises AnalysisProblem."""
    found = next((o for o in query.outputs if o.name == name), None)
    if found is None:
        similar = similar_names(name, [o.name for o in query.outputs])
        text.refuse("unknown-column", f"the result has no column {name}", place, similar=similar)
    if found.key:
        text.refuse("header-columns", f"{name} is a key of the result and cannot be its headers", place)
    if not _holds_headers(found.expr.type):
        text.refuse(
            "wrong-type",
            f"the headers of a result are of type {HEADERS_TYPE}, MAP<STRING, BYTES> or MAP<STRING, STRING>, not"
            f" {found.expr.type}",
            place,
        )
    if all(o.key or o is found for o in query.outputs):
        text.refuse("no-values", f"the result has no value column beside {name}", place)
    return replace(query, outputs=tuple(replace(o, header=o is found) for o in query.outputs))


def _holds_headers(type_: SqlType) -> bool:
    texts = (STRING, BYTES)
    if isinstance(type_, MapType):
        return type_.key == STRING and type_.value in texts
    if isinstance(type_, ArrayType) and isinstance(type_.item, StructType):
        return [n for n, _ in type_.item.fields] == ["KEY", "VALUE"] and (
            type_.item.field("KEY") == STRING and type_.item.field("VALUE") in texts
        )
    return False
