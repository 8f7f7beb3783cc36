"""Formats whose schemas lie in the schema registry: the subjects ``TOPIC-key`` and ``TOPIC-value``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ksqlpy.catalog import Column, PartSpec, Schema
from ksqlpy.errors import AnalysisProblem, EngineProblem
from ksqlpy.formats.contract import SchemaProperties, Unreadable, Which
from ksqlpy.registry import Registered, SchemaRegistry
from ksqlpy.types import ArrayType, MapType, SqlType, StructType

__all__ = ["AHEAD", "Ambiguous", "Subjects", "Unsupported", "in_upper_case", "registered_as", "schema_id"]

AHEAD = 5
"""The bytes ahead of a value: a zero, and the id of its schema (Confluent, wire format)."""


class Unsupported(ValueError):
    """A schema that no columns stand for; the message says what in it."""


class Ambiguous(Unsupported):
    """A schema of several records, of which the statement names none."""


def schema_id(spec: PartSpec) -> int:
    """The id of the schema of what is written; raises EngineProblem ``unregistered-schema``."""
    if spec.schema_id is None:
        raise EngineProblem(
            "unregistered-schema",
            f"the schema of {', '.join(c.name for c in spec.columns)} is not in the schema registry",
            hint=f"records in {spec.format} are written by statements, where ksql.schema.registry.url names a registry",
        )
    return spec.schema_id


def registered_as(kind: str, number: int, registry: SchemaRegistry | None) -> Registered | None:
    """The schema of an id in front of a record, None where there is no registry to ask.

    Raises Unreadable where the registry has none, or one of another kind.
    """
    if registry is None:
        return None
    found = registry.schema(number)
    if found is None:
        raise Unreadable(f"the schema registry has no schema {number}")
    if found.kind != kind:
        raise Unreadable(f"schema {number} is of {found.kind}, not of {kind}")
    return found


@dataclass(frozen=True)
class Subjects:
    """What a format has in the schema registry.

    ``kind``: AVRO, JSON or PROTOBUF, as the registry calls it; ``language``: of its schemas, in messages.
    ``schema_of``: the schema of columns, for the key or the value of a source of that name, None for one that is
    declared only; ``type_of``: the type that a schema stands for; it raises Unsupported, or whatever comes of a text
    that is no schema. Its names are in upper case, unless the statement names the schema by its id.
    """

    format: str
    kind: str
    language: str
    schema_of: Callable[[PartSpec, Which, str | None], str]
    type_of: Callable[[Registered, SchemaProperties], SqlType]

    def infer(
        self, topic: str, which: Which, registry: SchemaRegistry | None, given: SchemaProperties, *, wrapped: bool
    ) -> tuple[Column, ...] | None:
        """The columns of the subject's latest schema, or of the one that ``given`` names; raises KsqlError."""
        if given.id is not None:
            found, of = self._numbered(given.id, registry), f"schema {given.id}"
        else:
            latest = self._there(registry).latest(subject := f"{topic}-{which}")
            if latest is None:
                raise AnalysisProblem(
                    "unknown-schema",
                    f"the schema registry has no subject {subject}",
                    hint="list the columns, or write records with a schema first",
                )
            found, of = latest, f"schema {latest.id} of subject {subject}"
        try:
            if found.kind != self.kind:
                raise Unsupported(f"it is of type {found.kind}")
            type_ = self.type_of(found, given)
        except (Unsupported, ValueError, KeyError, TypeError, AttributeError) as e:
            why = str(e) if isinstance(e, Unsupported) else f"it is no schema of {self.language}"
            named = f"{which.upper()}_SCHEMA_FULL_NAME names one of them"
            raise AnalysisProblem(
                "unusable-schema",
                f"no columns can be made of the {of}: {why}",
                hint=named if isinstance(e, Ambiguous) else "list the columns",
            ) from e
        if not wrapped:
            return (Column("ROWKEY" if which == "key" else "ROWVAL", type_),)
        if isinstance(type_, StructType):
            return tuple(Column(n, t) for n, t in type_.fields)
        raise AnalysisProblem(
            "unusable-schema",
            f"no columns can be made of the {of}: it is no record, but {type_}",
            hint="set WRAP_SINGLE_VALUE = false for a single column",
        )

    def named(self, number: int, registry: SchemaRegistry | None) -> Schema:
        """The schema of an id; raises AnalysisProblem ``unknown-schema``."""
        found = self._numbered(number, registry)
        return Schema(found.text, found.references)

    def _numbered(self, number: int, registry: SchemaRegistry | None) -> Registered:
        found = self._there(registry).schema(number)
        if found is None:
            raise AnalysisProblem("unknown-schema", f"the schema registry has no schema {number}")
        return found

    def declare(self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None) -> int | None:
        """Registers the schema of the columns if the topic has none; else the id of that schema, if it is there."""
        if not spec.columns:
            return None
        if spec.schema is not None:
            return spec.schema_id
        known, subject, schema = self._there(registry), f"{topic}-{which}", self.schema_of(spec, which, None)
        if known.latest(subject) is None:
            return known.register(subject, schema, self.kind)
        return known.find(subject, schema, self.kind)

    def register(
        self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None, *, source: str
    ) -> int | None:
        """Registers the schema of the columns; raises AnalysisProblem ``incompatible-schema``."""
        if not spec.columns:
            return None
        if spec.schema is not None:
            return spec.schema_id
        return self._there(registry).register(f"{topic}-{which}", self.schema_of(spec, which, source), self.kind)

    def _there(self, registry: SchemaRegistry | None) -> SchemaRegistry:
        if registry is None:
            raise AnalysisProblem(
                "no-registry",
                f"format {self.format} needs a schema registry, and there is none",
                hint="the property ksql.schema.registry.url names one",
            )
        return registry


def in_upper_case(type_: SqlType) -> SqlType:
    """The type with the names of its fields in upper case; raises Unsupported where two are the same then."""
    match type_:
        case ArrayType(item):
            return ArrayType(in_upper_case(item))
        case MapType(key, item):
            return MapType(key, in_upper_case(item))
        case StructType(fields):
            found: dict[str, SqlType] = {}
            for name, inner in fields:
                if name.upper() in found:
                    raise Unsupported(f"two fields are {name.upper()} in upper case")
                found[name.upper()] = in_upper_case(inner)
            return StructType(tuple(found.items()))
    return type_
