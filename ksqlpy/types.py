"""The SQL types of the language, how they print, and which widen into which.

Source of the rules: ksqlDB's data types and implicit coercion (INT → BIGINT → DECIMAL → DOUBLE), see
``docs/reference/sql/data-types.md`` of that project.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context
from typing import Any

__all__ = [
    "ALL_DIGITS",
    "BIGINT",
    "BOOLEAN",
    "BYTES",
    "DATE",
    "DOUBLE",
    "INTEGER",
    "NULL",
    "STRING",
    "TIME",
    "TIMESTAMP",
    "UNIT",
    "ArrayType",
    "DecimalType",
    "MapType",
    "Scalar",
    "SqlType",
    "StructType",
    "as_decimal",
    "common_type",
    "holds_double",
    "holds_map",
    "is_numeric",
    "type_from_json",
    "type_to_json",
    "widens_to",
]

ALL_DIGITS = Context(prec=2000)
"""For arithmetic of ``decimal`` over DECIMALs: Python's own context rounds to 28 digits."""


@dataclass(frozen=True)
class SqlType:
    """Base of all types. ``str(t)`` is the canonical SQL text, as ksqlDB prints it."""

    @property
    def base(self) -> str:
        """ksqlDB's base type name, as in the ``type`` field of REST schemas."""
        raise NotImplementedError


@dataclass(frozen=True)
class Scalar(SqlType):
    """BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME or TIMESTAMP."""

    name: str

    @property
    def base(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DecimalType(SqlType):
    """DECIMAL(precision, scale); 1 ≤ precision ≤ 38 (Spark's limit), 0 ≤ scale ≤ precision."""

    precision: int
    scale: int

    @property
    def base(self) -> str:
        return "DECIMAL"

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class ArrayType(SqlType):
    """ARRAY<item>."""

    item: SqlType

    @property
    def base(self) -> str:
        return "ARRAY"

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True)
class MapType(SqlType):
    """MAP<key, value>; the formats carry STRING keys only."""

    key: SqlType
    value: SqlType

    @property
    def base(self) -> str:
        return "MAP"

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class StructType(SqlType):
    """STRUCT<name type, …>; field names keep the case in which they were resolved."""

    fields: tuple[tuple[str, SqlType], ...]

    @property
    def base(self) -> str:
        return "STRUCT"

    def field(self, name: str) -> SqlType | None:
        """Type of the field, or None."""
        return dict(self.fields).get(name)

    def __str__(self) -> str:
        inner = ", ".join(f"`{n}` {t}" for n, t in self.fields)
        return f"STRUCT<{inner}>" if inner else "STRUCT< >"


BOOLEAN = Scalar("BOOLEAN")
INTEGER = Scalar("INTEGER")
BIGINT = Scalar("BIGINT")
DOUBLE = Scalar("DOUBLE")
STRING = Scalar("STRING")
BYTES = Scalar("BYTES")
DATE = Scalar("DATE")
TIME = Scalar("TIME")
TIMESTAMP = Scalar("TIMESTAMP")
NULL = Scalar("NULL")
"""The type of a NULL whose surroundings have not said what it is; no column has it."""
UNIT = Scalar("INTERVALUNIT")
"""Of a time unit as an argument, as in ``DATEADD(DAYS, 1, d)``; no column has it. Its values are words such as DAY."""


def is_numeric(t: SqlType) -> bool:
    """INTEGER, BIGINT, DECIMAL or DOUBLE."""
    return isinstance(t, DecimalType) or t in (INTEGER, BIGINT, DOUBLE)


def as_decimal(t: SqlType) -> DecimalType:
    """The DECIMAL that holds every value of an exact numeric type: INTEGER is (10, 0), BIGINT (19, 0)."""
    if isinstance(t, DecimalType):
        return t
    if t == INTEGER:
        return DecimalType(10, 0)
    if t == BIGINT:
        return DecimalType(19, 0)
    raise ValueError(f"{t} has no exact decimal form")


def _rank(t: SqlType) -> int:
    if isinstance(t, DecimalType):
        return 2
    return {INTEGER: 0, BIGINT: 1, DOUBLE: 3}[t]  # type: ignore[index]  # guarded by is_numeric


def widens_to(source: SqlType, target: SqlType) -> bool:
    """Whether a value of ``source`` may stand where ``target`` is wanted, without CAST."""
    if source == target:
        return True
    if is_numeric(source) and is_numeric(target):
        if isinstance(target, DecimalType) and source != DOUBLE:
            d = as_decimal(source)
            return d.precision - d.scale <= target.precision - target.scale and d.scale <= target.scale
        return _rank(source) < _rank(target)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return widens_to(source.item, target.item)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return widens_to(source.key, target.key) and widens_to(source.value, target.value)
    if isinstance(source, StructType) and isinstance(target, StructType):
        wanted = dict(target.fields)
        return all(n in wanted and widens_to(t, wanted[n]) for n, t in source.fields)
    return False


def common_type(types: Iterable[SqlType]) -> SqlType | None:
    """The narrowest type that all of ``types`` widen to, or None if there is none."""
    result: SqlType | None = None
    for t in types:
        if result is None or widens_to(result, t):
            result = t
        elif not widens_to(t, result):
            if is_numeric(t) and is_numeric(result):  # two decimals, or a decimal and a wider integer
                a, b = as_decimal(t), as_decimal(result)
                scale = max(a.scale, b.scale)
                result = DecimalType(min(38, max(a.precision - a.scale, b.precision - b.scale) + scale), scale)
            elif isinstance(t, ArrayType) and isinstance(result, ArrayType):
                item = common_type((t.item, result.item))
                if item is None:
                    return None
                result = ArrayType(item)
            elif isinstance(t, MapType) and isinstance(result, MapType):
                key, value = common_type((t.key, result.key)), common_type((t.value, result.value))
                if key is None or value is None:
                    return None
                result = MapType(key, value)
            elif isinstance(t, StructType) and isinstance(result, StructType):
                merged = dict(result.fields)
                for name, ft in t.fields:
                    both = common_type((merged[name], ft)) if name in merged else ft
                    if both is None:
                        return None
                    merged[name] = both
                result = StructType(tuple(merged.items()))
            else:
                return None
    return result


def holds_double(type_: SqlType) -> bool:
    """Whether values of the type are or contain a DOUBLE, keys of maps aside."""
    match type_:
        case ArrayType(item):
            return holds_double(item)
        case MapType(_, item):
            return holds_double(item)
        case StructType(fields):
            return any(holds_double(f) for _, f in fields)
    return type_ == DOUBLE


def holds_map(type_: SqlType) -> bool:
    """Whether values of the type are or contain a MAP."""
    match type_:
        case ArrayType(item):
            return holds_map(item)
        case StructType(fields):
            return any(holds_map(f) for _, f in fields)
    return isinstance(type_, MapType)


_SCALARS = {t.name for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)}


def type_to_json(t: SqlType) -> Any:
    """A type as plain JSON data: a name, or an object with ``kind``; the form of the command log and the readers."""
    match t:
        case Scalar(name):
            return name
        case DecimalType(precision, scale):
            return {"kind": "DECIMAL", "precision": precision, "scale": scale}
        case ArrayType(item):
            return {"kind": "ARRAY", "item": type_to_json(item)}
        case MapType(key, value):
            return {"kind": "MAP", "key": type_to_json(key), "item": type_to_json(value)}
        case StructType(fields):
            return {"kind": "STRUCT", "fields": [[n, type_to_json(f)] for n, f in fields]}
    raise TypeError(f"not a type: {t!r}")


def type_from_json(data: Any) -> SqlType:
    """The inverse of :func:`type_to_json`; raises ValueError for anything else."""
    if isinstance(data, str):
        if data not in _SCALARS:
            raise ValueError(f"not a type: {data!r}")
        return Scalar(data)
    match data:
        case {"kind": "DECIMAL", "precision": int(precision), "scale": int(scale)}:
            return DecimalType(precision, scale)
        case {"kind": "ARRAY", "item": item}:
            return ArrayType(type_from_json(item))
        case {"kind": "MAP", "key": key, "item": item}:
            return MapType(type_from_json(key), type_from_json(item))
        case {"kind": "STRUCT", "fields": fields}:
            return StructType(tuple((n, type_from_json(f)) for n, f in fields))
    raise ValueError(f"not a type: {data!r}")
