"""Statements that change what exists already: INSERT INTO … SELECT, ALTER … ADD, DELETE FROM, OR REPLACE of a source.

Sources of the rules: ksqlDB's INSERT INTO, ALTER STREAM/TABLE and CREATE OR REPLACE. DELETE FROM is our own: ksqlDB has
no statement that writes a tombstone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import coerce
from ksqlpy.analysis.expressions import ExpressionAnalyzer
from ksqlpy.analysis.formats import check_formats
from ksqlpy.analysis.inserts import Insert, inserted, refuse_read_only
from ksqlpy.analysis.properties import read_properties
from ksqlpy.analysis.query import analyze_query
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.analysis.scope import Scope, Text, find_source
from ksqlpy.analysis.statements import declared_columns
from ksqlpy.analysis.typenames import data_type
from ksqlpy.catalog import Catalog, Column, Source, SourceKind
from ksqlpy.config import Config
from ksqlpy.errors import similar_names
from ksqlpy.sql import Parsed, nodes
from ksqlpy.types import SqlType, widens_to

__all__ = [
    "InsertInto",
    "analyze_alter",
    "analyze_delete",
    "analyze_insert_select",
    "analyze_type",
    "check_replaceable",
]


@dataclass(frozen=True)
class InsertInto:
    """INSERT INTO … SELECT: one more query that writes the stream ``source``; ``query_id``: what QUERY_ID asks for."""

    source: Source
    query: TypedQuery
    statement: str
    query_id: str | None


def analyze_insert_select(parsed: Parsed, catalog: Catalog, config: Config) -> InsertInto:
    """What an INSERT INTO … SELECT runs; raises AnalysisProblem."""
    node, text = parsed.node, Text.of(parsed.sql, catalog)
    assert isinstance(node, nodes.InsertSelect)
    written = node.args.get("properties") or []
    properties = read_properties(written, text, declares=False)
    for name, value in properties.nodes.items():
        if name != "QUERY_ID":
            hint = "the topic and its formats are those of the stream"
            text.refuse("unknown-property", f"INSERT INTO takes no property {name}, only QUERY_ID", value, hint=hint)
    sink = find_source(catalog, node.this, text)
    refuse_read_only(sink, text, node.this)
    if sink.kind == "TABLE":
        text.refuse(
            "insert-into-table",
            f"{sink.name} is a table, INSERT INTO … SELECT writes streams",
            node.this,
            hint="a table has one query that makes it: CREATE TABLE … AS SELECT",
        )
    if sink.window is not None:
        text.refuse("windowed-source", f"{sink.name} has a windowed key, a query cannot write it", node.this)
    if sink.headers:
        text.refuse(
            "header-columns",
            f"{sink.name} has the column {sink.headers[0].name} of headers, which no query writes",
            node.this,
            hint="declare a second stream over the topic without it",
        )

    def check_kind(given: SourceKind) -> None:
        if given != "STREAM":
            message = "this query gives a table, its rows cannot be inserted into a stream"
            text.refuse("wrong-kind", message, node.this)

    query = analyze_query(node.args["query"], catalog, text, persistent=True, config=config, check_kind=check_kind)
    if any(s.topic == sink.topic for s in query.sources):
        text.refuse("same-topic", f"the result would be written into its own source topic {sink.topic}", node.this)
    return InsertInto(sink, _fitted(query, sink, node, text), parsed.text, properties.query_id)


def _fitted(query: TypedQuery, sink: Source, node: nodes.InsertSelect, text: Text) -> TypedQuery:
    """The query with its columns as the types of the sink's; refuses it if names, keys or order differ."""
    have, want = query.columns, sink.columns
    same = len(have) == len(want) and all(
        h.name == w.name and h.key == w.key and widens_to(h.type, w.type) for h, w in zip(have, want, strict=True)
    )
    if not same:
        why, name = _difference(have, want, sink.name)
        text.refuse(
            "schema-differs",
            f"the columns of the query are not those of {sink.name}: {why}",
            _item(node.args["query"], name),
            hint=f"{sink.name} has {_shown(want)}; the query gives {_shown(have)}",
        )
    types = {c.name: c.type for c in want}
    return replace(query, outputs=tuple(replace(o, expr=coerce(o.expr, types[o.name])) for o in query.outputs))


def _difference(have: tuple[Column, ...], want: tuple[Column, ...], sink: str) -> tuple[str, str | None]:
    """The first thing that differs: names, keys, types, then order; and the column of the query that it is about."""
    given, wanted = {c.name: c for c in have}, {c.name: c for c in want}
    missing, more = [n for n in wanted if n not in given], [n for n in given if n not in wanted]
    if missing and more:
        return f"it has no column {more[0]}, and its column {missing[0]} is missing", more[0]
    if missing:
        return f"its column {missing[0]} is missing", None
    if more:
        return f"it has no column {more[0]}", more[0]
    for name, w in wanted.items():
        h = given[name]
        if h.key != w.key:
            return f"{name} is {_part(w)} there, in the query {_part(h)}", name
    for name, w in wanted.items():
        h = given[name]
        if not widens_to(h.type, w.type):
            return f"{name} is {w.type} there, which {h.type} does not widen to", name
    h, w = next((h, w) for h, w in zip(have, want, strict=True) if h.name != w.name)
    return f"they have another order: {w.name} comes before {h.name} in {sink}", h.name


def _part(column: Column) -> str:
    return "a KEY" if column.key else "no key"


def _item(query: exp.Expr, name: str | None) -> exp.Expr:
    """Where a SELECT names a column of its result; its first item where it does not say."""
    items: list[exp.Expr] = query.expressions
    for item in items:
        named = item.args.get("alias") if isinstance(item, exp.Alias) else item.this
        if isinstance(named, exp.Identifier) and named.this == name:
            return item
    return items[0]


def _shown(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{c.name} {c.type}{' KEY' if c.key else ''}" for c in columns)


def analyze_alter(parsed: Parsed, catalog: Catalog) -> Source:
    """The source with the columns of ALTER … ADD appended; raises AnalysisProblem."""
    node, text = parsed.node, Text.of(parsed.sql, catalog)
    assert isinstance(node, nodes.AlterSource)
    source = find_source(catalog, node.this, text)
    if source.kind != node.args["kind"]:
        text.refuse("wrong-kind", f"{source.name} is a {source.kind.lower()}", node.this, hint=f"ALTER {source.kind} …")
    refuse_read_only(source, text, node.this)
    if source.query is not None:
        text.refuse(
            "made-by-query",
            f"the columns of {source.name} come from the query {catalog.told([source.query])}",
            node.this,
            hint="CREATE OR REPLACE … AS SELECT changes the query",
        )
    specs = node.args["columns"]
    for spec in specs:
        if spec.args.get("constraint") is not None:
            text.refuse("wrong-key", "ALTER adds value columns only; the key of a source stays as it is", spec)
        if source.column(spec.this.this) is not None:
            text.refuse("duplicate-column", f"{source.name} has a column {spec.this.this} already", spec.this)
    added = declared_columns(specs, text)
    altered = replace(source, columns=(*source.keys, *source.values, *added, *source.headers), statement=parsed.text)
    check_formats(altered, text, node.this)
    return altered


def check_replaceable(old: Source, new: Source, catalog: Catalog, text: Text, node: exp.Expr, view: Catalog) -> None:
    """Refuses OR REPLACE of ``old`` by ``new`` unless readers and records stay valid.

    Kind, topic, formats, time and key stay; value columns may be appended only. AnalysisProblem ``not-replaceable``.
    """

    def refuse(why: str, hint: str | None = None) -> None:
        text.refuse("not-replaceable", f"{old.name} cannot be replaced: {why}", node, hint=hint or "DROP it first")

    if old.kind != new.kind:
        refuse(f"it is a {old.kind.lower()}")
    if old.read_only or new.read_only:
        refuse("a source of CREATE SOURCE stays as it is")
    if (old.query is None) != (new.query is None):
        refuse("it was made " + ("with columns" if old.query is None else f"by the query {old.query}"))
    for what, before, after in (
        ("topic", old.topic, new.topic),
        ("key format", old.key.format, new.key.format),
        ("value format", old.value.format, new.value.format),
        ("delimiter of keys", old.key.delimiter, new.key.delimiter),
        ("delimiter of values", old.value.delimiter, new.value.delimiter),
        ("VALUE_ENVELOPE", old.envelope, new.envelope),
        ("TIMESTAMP", old.timestamp, new.timestamp),
        ("TIMESTAMP_FORMAT", old.timestamp_format, new.timestamp_format),
        ("window of the key", _window_text(old), _window_text(new)),
    ):
        if before != after:
            refuse(f"its {what} would change from {before or 'none'} to {after or 'none'}")
    if old.keys != new.keys:
        refuse(f"its key is {_shown(old.keys) or 'empty'}")
    if old.values != new.values[: len(old.values)]:
        changed = next(
            (c for i, c in enumerate(old.values) if i >= len(new.values) or new.values[i] != c), old.values[0]
        )
        refuse(
            f"the column {changed.name} {changed.type} would be changed, missing or in another place",
            "value columns can be appended only",
        )
    writers = [q for q in catalog.writers(old.name) if q != old.query]
    if writers and old.columns != new.columns:
        refuse(f"it is written by {view.told(writers)} too", "TERMINATE them first")


def _window_text(source: Source) -> str | None:
    return None if source.window is None else f"{source.window.kind} {source.window.size} ms"


def analyze_delete(parsed: Parsed, catalog: Catalog) -> Insert:
    """What a DELETE FROM … WHERE key = value writes: the key, and no value. Raises AnalysisProblem."""
    node, text = parsed.node, Text.of(parsed.sql, catalog)
    assert isinstance(node, nodes.DeleteFrom)
    source = find_source(catalog, node.this, text)
    refuse_read_only(source, text, node.this)
    if source.kind != "TABLE":
        text.refuse("delete-from-stream", f"{source.name} is a stream, what it holds has happened", node.this)
    if source.window is not None:
        text.refuse("windowed-source", f"{source.name} has a windowed key, its rows cannot be deleted", node.this)
    analyzer = ExpressionAnalyzer(Scope(()), text)
    keys = {c.name: c for c in source.keys}
    wanted = " AND ".join(f"{n} = …" for n in keys)
    found: dict[str, t.Expr] = {}
    for part in _conjuncts(node.args["where"].this):
        name_node = part.this if isinstance(part, exp.EQ) else None
        if not isinstance(name_node, exp.Column) or isinstance(name_node.this, exp.Star):
            text.refuse("delete-condition", "DELETE takes one row by its key", part, hint=f"write WHERE {wanted}")
        name: str = name_node.this.this
        if name not in keys:
            similar = similar_names(name, keys)
            text.refuse("delete-condition", f"{name} is no key column", name_node, f"write WHERE {wanted}", similar)
        if name in found:
            text.refuse("delete-condition", f"{name} is given twice", name_node)
        value = analyzer.analyze(part.expression, place="in WHERE of DELETE")
        found[name] = inserted(value, keys[name], part.expression, text)
    missing = [n for n in keys if n not in found]
    if missing:
        text.refuse(
            "delete-condition", f"the key column {missing[0]} is not given", node.args["where"], f"write WHERE {wanted}"
        )
    return Insert(source, tuple(found.get(c.name, t.Literal(c.type, None)) for c in source.columns), None)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def analyze_type(parsed: Parsed, catalog: Catalog) -> SqlType:
    """The type that CREATE TYPE names, with the types in it looked up; raises AnalysisProblem ``unknown-type``."""
    text = Text.of(parsed.sql, catalog)
    name: str = parsed.node.this.this
    if name in nodes.BUILT_IN_TYPES:
        text.refuse("built-in-type", f"{name} is a type of the language", parsed.node.this)
    return data_type(parsed.node.args["type"], text)
