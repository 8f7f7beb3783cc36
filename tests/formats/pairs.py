"""A format that comes from outside: each column is a line ``NAME=value``. All of it stands in this file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ksqlpy.catalog import Column, PartSpec, Schema
from ksqlpy.formats import Codec, Format, Unreadable, Written, text
from ksqlpy.formats.contract import BARE, Limits, SchemaProperties, Which
from ksqlpy.functions.sparktext import bound
from ksqlpy.registry import SchemaRegistry
from ksqlpy.types import BIGINT, STRING, SqlType

__all__ = ["Pairs"]

_TYPES: Mapping[SqlType, str] = {BIGINT: "bigint", STRING: "string"}
_NUMBER = "-?[0-9]{1,18}"


class Memory:
    """What a schema registry does: keeps the columns of topics. A new source makes known what it writes."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, Which], tuple[Column, ...]] = {}

    def infer(
        self, topic: str, which: Which, registry: SchemaRegistry | None, given: SchemaProperties, *, wrapped: bool
    ) -> tuple[Column, ...] | None:
        return self.columns.get((topic, which))

    def named(self, number: int, registry: SchemaRegistry | None) -> Schema:
        raise LookupError(number)

    def declare(self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None) -> int | None:
        return None

    def register(
        self, topic: str, which: Which, spec: PartSpec, registry: SchemaRegistry | None, *, source: str
    ) -> int | None:
        self.columns[topic, which] = spec.columns
        return 1


class Pairs(Format):
    """Lines of names and values; a column without a line is null."""

    name = "PAIRS"
    about = "a line NAME=value for each column"
    limits = Limits(frozenset(_TYPES), nested=False, wraps=BARE)

    def __init__(self) -> None:
        self.memory = self.schemas = Memory()

    def reader(self, spec: PartSpec, data: str) -> str:
        """In Spark SQL, no reader in the JVM."""
        fields, errors = [], []
        for c in spec.columns:
            begin = text.string(f"{c.name}=")
            value = f"substring(get(filter(__lines, __l -> startswith(__l, {begin})), 0), length({begin}) + 1)"
            fields.append(f"{text.string(c.name)}, try_cast({value} as {_TYPES[c.type]})")
            if c.type == BIGINT:
                said = f"concat({text.string(c.name)}, ': ', {value}, ' is no number')"
                errors.append(f"case when not {value} rlike '^{_NUMBER}$' then {said} end")
        error = f"coalesce({', '.join(errors)})" if len(errors) > 1 else errors[0] if errors else "cast(null as string)"
        row = fields[0].split(", ", 1)[1] if spec.bare else f"named_struct({', '.join(fields)})"
        lines = f"split(decode({data}, 'UTF-8'), '\\n')"
        result = f"named_struct('row', case when __lines is not null and __e is null then {row} end, 'error', __e)"
        inner = f"element_at(transform(array({error}), __e -> {result}), 1)"
        return f"element_at(transform(array({lines}), __lines -> {inner}), 1)"

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """A line for each column that is not null, in their order."""

        def line(c: Written) -> str:
            value = f"translate({c.value}, '\\n', ' ')" if c.type == STRING else f"cast({c.value} as string)"
            return bound(value, lambda v: f"concat({text.string(f'{c.name}=')}, {v})")

        whole = f"cast(concat_ws('\\n', {', '.join(map(line, columns))}) as binary)"
        return f"case when {columns[0].value} is not null then {whole} end" if spec.bare else whole

    def codec(self, spec: PartSpec) -> Codec:
        """The same in Python."""
        return _PairsCodec(spec)

    def to_text(self, spec: PartSpec, data: bytes) -> str | None:
        """With a bar between the lines."""
        return super().to_text(spec, data.replace(b"\n", b"|"))

    def from_text(self, spec: PartSpec, text: str) -> bytes:
        """The inverse."""
        return text.replace("|", "\n").encode()


class _PairsCodec:
    def __init__(self, spec: PartSpec) -> None:
        self._spec = spec

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        lines = data.decode(errors="replace").split("\n")
        found = {c.name: next((v for v in lines if v.startswith(f"{c.name}=")), None) for c in self._spec.columns}
        row = []
        for c in self._spec.columns:
            line = found[c.name]
            value = None if line is None else line[len(c.name) + 1 :]
            if value is not None and c.type == BIGINT and not re.fullmatch(_NUMBER, value):
                raise Unreadable(f"{c.name}: {value} is no number")
            row.append(int(value) if value is not None and c.type == BIGINT else value)
        return None if self._spec.bare and row[0] is None else tuple(row)

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        if values is None or (self._spec.bare and values[0] is None):
            return None
        pairs = zip(self._spec.columns, values, strict=True)
        return "\n".join(f"{c.name}={str(v).replace(chr(10), ' ')}" for c, v in pairs if v is not None).encode()
