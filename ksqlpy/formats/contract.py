"""What a format is: one object that answers all that is asked of a format, in one file of this folder.

It says what its records can carry, where the columns come from, and how bytes are read and written: as Spark SQL text
for queries, and in Python (:class:`Codec`) for what reads or writes single records. Both follow the same rules, which
``tests/formats`` holds. Source of the rules: ksqlDB, serialization formats.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from ksqlpy.catalog import Column, Nulls, PartSpec, Schema
from ksqlpy.registry import SchemaRegistry
from ksqlpy.types import STRING, ArrayType, MapType, SqlType, StructType, holds_map

__all__ = [
    "BARE",
    "DECLARED",
    "NO_SCHEMA_PROPERTIES",
    "RECORDS",
    "Codec",
    "DeclaredColumns",
    "Format",
    "Limits",
    "Refusal",
    "SchemaProperties",
    "Schemas",
    "Unreadable",
    "Which",
    "Written",
]

Which = Literal["key", "value"]

BARE = frozenset({False})
"""Of a format that does not wrap: its text of one column is the same with and without a record around it."""

RECORDS = frozenset({True})
"""Of a format whose keys and values are always records."""


@dataclass(frozen=True)
class Limits:
    """What a format can carry.

    ``types``: the types that it carries, None for all; ``nested``: also ARRAY, MAP and STRUCT; ``most``: columns that
    it carries at most, None for any number; ``wraps``: the values of WRAP_SINGLE_VALUE that it knows; ``delimited``:
    whether it has a delimiter; ``regrouped``: whether JOIN and GROUP BY take values in it.
    """

    types: frozenset[SqlType] | None = None
    nested: bool = True
    most: int | None = None
    wraps: frozenset[bool] = frozenset({True, False})
    delimited: bool = False
    regrouped: bool = True

    def carries(self, type_: SqlType) -> bool:
        """Whether a column may have the type; of what it is made is not looked at."""
        if isinstance(type_, ArrayType | MapType | StructType):
            return self.nested
        return self.types is None or type_ in self.types


@dataclass(frozen=True)
class Refusal:
    """Why a format cannot carry some columns, and what to do."""

    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Written:
    """A column to write: its name, its type, and the Spark SQL text of its value."""

    name: str
    type: SqlType
    value: str


class Unreadable(ValueError):
    """Bytes that a format cannot read; the message says why, as dead letters do."""


class Codec(Protocol):
    """Reads and writes single records of one key or value in Python, by the rules of the format's Spark text.

    A column's value is a bool, int, float, Decimal, str or bytes; DATE is days since 1970, TIME milliseconds of the
    day, TIMESTAMP milliseconds since 1970; ARRAY is a list, MAP a dict, STRUCT a dict of all its fields.
    """

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        """The values of the columns, None for no bytes and for a text of null; raises Unreadable."""

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        """The bytes of the values of all columns, None for no values and for a null that stands bare."""


@dataclass(frozen=True)
class SchemaProperties:
    """What a WITH clause says of the schema of keys or values.

    ``id``: KEY_/VALUE_SCHEMA_ID, the id in the schema registry; ``name``: KEY_/VALUE_SCHEMA_FULL_NAME, the record or
    message in it; ``nulls``: KEY_/VALUE_PROTOBUF_NULLABLE_REPRESENTATION; ``of_query``: whether columns of a query are
    compared with it, so that of several messages without a name the first one is meant.
    """

    id: int | None = None
    name: str | None = None
    nulls: Nulls = ""
    of_query: bool = False


NO_SCHEMA_PROPERTIES = SchemaProperties()


class Schemas(Protocol):
    """Where the columns of keys or values come from, and where they are made known: the seam for a schema registry.

    All are asked while a statement is checked or done, and may raise KsqlError. ``registry``: the server's schema
    registry, None if it has none.
    """

    def infer(
        self, topic: str, which: Which, registry: SchemaRegistry | None, given: SchemaProperties, *, wrapped: bool
    ) -> tuple[Column, ...] | None:
        """The columns that the records of the topic have, for a CREATE that lists none; None: they must be listed.

        ``wrapped``: whether they are the fields of a record, not the whole as one column.
        """

    def named(self, number: int, registry: SchemaRegistry | None) -> Schema:
        """The schema that a statement names by its id."""

    def declare(self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None) -> int | None:
        """The id of the schema of a source that is declared over the topic; None where nothing can be written yet."""

    def register(
        self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None, *, source: str
    ) -> int | None:
        """Makes known what is written into the topic, which is there; gives the id of the schema, if it has one.

        ``source``: the name of the source that is written.
        """


class DeclaredColumns:
    """Columns are listed in the statement, or come from its query; no other place knows them."""

    def infer(
        self, topic: str, which: Which, registry: SchemaRegistry | None, given: SchemaProperties, *, wrapped: bool
    ) -> tuple[Column, ...] | None:
        """None: they must be listed."""
        return None

    def named(self, number: int, registry: SchemaRegistry | None) -> Schema:
        """Raises LookupError: there are no ids."""
        raise LookupError(f"there is no schema {number}")

    def declare(self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None) -> int | None:
        """None: there is no schema."""
        return None

    def register(
        self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None, *, source: str
    ) -> int | None:
        """Nothing is to be made known."""
        return None


DECLARED = DeclaredColumns()


class Format(ABC):
    """A format of records; each may be the format of keys and of values. Its object has no state."""

    name: ClassVar[str]
    """As WITH names it, in capitals."""

    about: ClassVar[str]
    """One sentence for the documentation."""

    limits: ClassVar[Limits] = Limits()

    schemas: Schemas = DECLARED
    """Where the columns come from."""

    names_records: ClassVar[bool] = False
    """Whether its schemas have records with names, for KEY_/VALUE_SCHEMA_FULL_NAME."""

    has_nulls: ClassVar[bool] = True
    """Whether a null differs from 0; else there may be a property for it (PROTOBUF_NULLABLE_REPRESENTATION)."""

    signs_zero: ClassVar[bool] = True
    """Whether -0.0 is read as it was written; else it becomes 0.0."""

    key_in_line: ClassVar[re.Pattern[str] | None] = None
    """What a key looks like at the beginning of a line of a statement file; None: JSON, or a word."""

    # ---------------------------------------------------------------- what is legal

    @property
    def empty(self) -> bool:
        """Whether it carries no columns."""
        return self.limits.most == 0

    def refusal(self, which: Which, columns: Sequence[Column]) -> Refusal | None:
        """Why it cannot carry the columns, or None."""
        name, most = self.name, self.limits.most
        if most is not None and len(columns) > most:
            if self.empty:
                return Refusal(f"{which} format {name} cannot carry the {which} column {columns[0].name}")
            said = f"format {name} carries one {which} column, there are {len(columns)}"
            return Refusal(said, f"{which.upper()}_FORMAT = 'JSON' carries several")
        for c in columns:
            if which == "key" and holds_map(c.type):
                return Refusal(f"a MAP cannot be in a key: column {c.name} {c.type}")
            if not self.limits.carries(c.type):
                return Refusal(f"format {name} cannot carry the {which} column {c.name} {c.type}")
            if _odd_map(c.type):
                return Refusal(f"format {name} carries maps with STRING keys only: column {c.name}")
        return None

    def wrapped(self, given: bool | None, default: str, columns: int) -> bool:
        """Whether a value is written as a record, not as its single column alone.

        ``given``: WRAP_SINGLE_VALUE; ``default``: ``ksql.persistence.wrap.single.values``, empty for the format's own;
        ``columns``: how many the value has.
        """
        if self.limits.wraps in (BARE, RECORDS) or columns != 1:
            return True  # a text of one column, where there is nothing to wrap; or always a record
        if given is not None:
            return given
        return default != "false"

    # ---------------------------------------------------------------- what a sample tells

    def sampled(self, records: Sequence[bytes]) -> SqlType | None:
        """The type that the keys or values of a topic have, by some of them, for a CREATE that lists no columns.

        A STRUCT has names in upper case, and its fields are the columns. None where records do not tell their columns,
        or where none of these can be read.
        """
        return None

    # ---------------------------------------------------------------- Spark

    @abstractmethod
    def reader(self, spec: PartSpec, data: str) -> str:
        """Spark SQL text that reads bytes into ``struct<row, error>``, never null.

        ``row`` is a struct of the columns, or the value itself where it stands bare; null for no bytes and for what
        cannot be read, of which ``error`` says why. See :func:`ksqlpy.formats.jvm.jvm_reader`.
        """

    @abstractmethod
    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """Spark SQL text of the bytes of the columns, which are those of ``spec`` in its order."""

    # ---------------------------------------------------------------- Python

    @abstractmethod
    def codec(self, spec: PartSpec) -> Codec:
        """What reads and writes single records."""

    def reading(self, spec: PartSpec, registry: SchemaRegistry | None) -> Codec:
        """What reads single records of every schema that the registry has, as queries do."""
        return self.codec(spec)

    def to_text(self, spec: PartSpec, data: bytes) -> str | None:
        """The bytes as people read them, in one line; None where they are no such text."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        return None if not text or text != text.strip() or text == "null" or "\n" in text else text

    def from_text(self, spec: PartSpec, text: str) -> bytes:
        """The inverse of :meth:`to_text`; raises ValueError for a text that stands for no bytes."""
        return text.encode()

    def comparable(self, spec: PartSpec, data: bytes) -> object:
        """A value that equal contents share, where the same may be written in several ways."""
        return data


def _odd_map(type_: SqlType) -> bool:
    if isinstance(type_, ArrayType):
        return _odd_map(type_.item)
    if isinstance(type_, StructType):
        return any(_odd_map(f) for _, f in type_.fields)
    return isinstance(type_, MapType) and (type_.key != STRING or _odd_map(type_.value))
