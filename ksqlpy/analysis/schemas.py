"""What WITH says of the schemas of keys and values (ksqlDB manual, schema inference with id)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from ksqlpy.analysis.properties import SourceProperties
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Column, Source
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import FORMATS
from ksqlpy.formats.contract import DECLARED, RECORDS, Format, SchemaProperties, Which
from ksqlpy.formats.envelopes import carries_envelopes
from ksqlpy.registry import SchemaRegistry

__all__ = ["check_envelope", "refuse_both", "registry_of", "with_schemas"]

_SIDES: tuple[Which, Which] = ("key", "value")


def registry_of(config: Config) -> Callable[[], SchemaRegistry | None]:
    """The schema registry for one statement, made when it is first needed; it asks for the schema of an id once."""

    @functools.cache
    def made() -> SchemaRegistry | None:
        found = config.registry()
        return None if found is None else found.remembering()

    return made


def refuse_both(specs: Sequence[exp.Expr], properties: SourceProperties, formats: tuple[str, str], text: Text) -> None:
    """Refuses columns that are listed beside the id of a schema that has them; raises AnalysisProblem.

    ``formats``: those of keys and values, as far as they are known.
    """
    for which, named in zip(_SIDES, formats, strict=True):
        if named in FORMATS:
            _refuse_strange(which, FORMATS[named], properties, text)
        listed = [s for s in specs if (s.args.get("constraint") in ("KEY", "PRIMARY KEY")) == (which == "key")]
        listed = [s for s in listed if s.args.get("constraint") not in ("HEADERS", "HEADER")]
        name = f"{which.upper()}_SCHEMA_ID"
        if listed and name in properties.nodes:
            text.refuse(
                "invalid-property",
                f"{name} gives the {which} columns, and they are listed too",
                listed[0],
                hint=f"leave out the {which} columns, or {name}",
            )


def check_envelope(
    kind: str, value_format: str, columns: Sequence[Column], properties: SourceProperties, text: Text
) -> None:
    """Refuses VALUE_ENVELOPE where there is no table to describe; raises AnalysisProblem."""
    node = properties.nodes["VALUE_ENVELOPE"]
    if kind != "TABLE":
        hint = "CREATE TABLE reads the rows; a stream can list the fields of the envelope, BEFORE, AFTER and OP"
        text.refuse("invalid-property", "VALUE_ENVELOPE is for tables", node, hint=hint)
    if not carries_envelopes(value_format):
        text.refuse("format-property", f"format {value_format} takes no property VALUE_ENVELOPE", node)
    if not any(not c.key and c.header is None for c in columns):
        text.refuse("invalid-property", "a table with VALUE_ENVELOPE needs a column that is not of the key", node)


def with_schemas(
    source: Source,
    properties: SourceProperties,
    registry: Callable[[], SchemaRegistry | None],
    text: Text,
    *,
    of_query: bool,
) -> Source:
    """The source with what is said of its schemas.

    ``of_query``: its columns come from a query; the schema of an id must have them. Raises AnalysisProblem
    ``format-property``, ``schema-mismatch``, ``unknown-schema`` or ``unusable-schema``.
    """
    key, value = (_part(source, which, properties, registry, text, of_query=of_query) for which in _SIDES)
    return replace(source, key=replace(source.key, **key), value=replace(source.value, **value))


def _part(
    source: Source,
    which: Which,
    properties: SourceProperties,
    registry: Callable[[], SchemaRegistry | None],
    text: Text,
    *,
    of_query: bool,
) -> dict[str, Any]:
    spec = source.key if which == "key" else source.value
    given = properties.key_schema if which == "key" else properties.value_schema
    format_, side = FORMATS[spec.format], which.upper()
    _refuse_strange(which, format_, properties, text)
    found: dict[str, Any] = {"schema_name": given.name, "nulls": given.nulls}
    if given.id is None:
        return found
    node = properties.nodes[f"{side}_SCHEMA_ID"]
    try:
        if of_query:
            _check(source, which, given, registry(), text, node)
        schema = format_.schemas.named(given.id, registry())
    except AnalysisProblem as e:
        if e.span is None:  # what the schema registry says has no place yet
            e.span, e.sql = text.span(node), text.sql
        raise
    return {**found, "schema_id": given.id, "schema": schema}


def _refuse_strange(which: Which, format_: Format, properties: SourceProperties, text: Text) -> None:
    """Refuses properties that the format does not have."""
    side = which.upper()
    takes = {
        f"{side}_SCHEMA_ID": format_.schemas is not DECLARED,
        f"{side}_SCHEMA_FULL_NAME": format_.names_records,
        "VALUE_AVRO_SCHEMA_FULL_NAME": format_.names_records or which == "key",
        f"{side}_PROTOBUF_NULLABLE_REPRESENTATION": not format_.has_nulls,
    }
    for name, legal in takes.items():
        if name in properties.nodes and not legal:
            text.refuse("format-property", f"format {format_.name} takes no property {name}", properties.nodes[name])


def _check(
    source: Source, which: Which, given: SchemaProperties, registry: SchemaRegistry | None, text: Text, node: exp.Expr
) -> None:
    """Refuses columns of a query that are not the first ones of the schema; it may have others behind them."""
    spec = source.key if which == "key" else source.value
    format_ = FORMATS[spec.format]
    wrapped = format_.limits.wraps == RECORDS or not spec.bare
    has = format_.schemas.infer(source.topic, which, registry, replace(given, of_query=True), wrapped=wrapped) or ()
    if spec.bare:
        has = tuple(replace(c, name=mine.name) for c, mine in zip(has, spec.columns, strict=False))
    first = [(c.name, c.type) for c in has[: len(spec.columns)]]
    odd = [c for i, c in enumerate(spec.columns) if (c.name, c.type) not in first[i : i + 1]]
    if odd:
        text.refuse(
            "schema-mismatch",
            f"schema {given.id} does not have these {which} columns at their places: {_shown(odd)}",
            node,
            hint=f"it has {_shown(has)}",
        )


def _shown(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{c.name}` {c.type}" for c in columns)
