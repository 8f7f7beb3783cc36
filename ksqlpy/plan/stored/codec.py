"""Values that a plan is made of ⇄ JSON data.

An object is ``{"@": name, field: value, …}``, with the names of :mod:`ksqlpy.plan.stored.names`; a field that has its
default is left out. Types are as in :func:`ksqlpy.types.type_to_json`. A function call names its function and the
parameter types of the overload; both are looked up again when it is read. The call of a function in Python has its
definition as a whole, so that a plan means the same whatever becomes of the function.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ksqlpy.catalog import Source
from ksqlpy.functions import FUNCTIONS, AggregateSignature, Call, Function, Signature
from ksqlpy.functions.python import python_function
from ksqlpy.plan.stored.names import CLASSES, FIELDS
from ksqlpy.plan.stored.source import StoredSource
from ksqlpy.types import ArrayType, DecimalType, MapType, Scalar, SqlType, StructType
from ksqlpy.udfs.definition import Definition

__all__ = ["from_data", "to_data"]

KIND = "@"
"""The field that says what an object is."""

PYTHON = "python"
"""The field of a call that has the definition of its function in Python."""

_NAMES = {kind: name for name, kind in CLASSES.items()}
_SCALARS = frozenset(
    ["BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "NULL", "INTERVALUNIT"]
)  # fmt: skip


@dataclass(frozen=True)
class _Stored:
    """A field: its name in the code, as stored, and its default, MISSING if it has none."""

    name: str
    stored: str
    default: Any


def fields_of(kind: type) -> tuple[_Stored, ...]:
    """The fields of a class as they are stored."""
    renamed = FIELDS.get(kind, {})
    return tuple(_Stored(f.name, renamed.get(f.name, f.name), _default(f)) for f in fields(kind))


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


_FIELDS: Mapping[type, tuple[_Stored, ...]] = {kind: fields_of(kind) for kind in CLASSES.values()}


# ---------------------------------------------------------------- writing


def to_data(value: object) -> Any:
    """A value as JSON data; raises TypeError for what has no stored name."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {KIND: "double", "value": repr(value)}
        case Decimal():
            return {KIND: "decimal", "value": str(value)}
        case bytes():
            return {KIND: "bytes", "value": value.hex()}
        case tuple():
            return [to_data(item) for item in value]
        case SqlType():
            return _type_data(value)
        case Mapping():
            return {str(name): to_data(item) for name, item in value.items()}
        case Call(function, signature, arguments, returns):
            types_ = [_type_data(a) for a in arguments]
            named = {"function": function.name, "parameters": str(signature)}
            python = {} if function.definition is None else {PYTHON: function.definition.to_json()}
            return {KIND: "call", **named, "arguments": types_, "returns": _type_data(returns), **python}
    if isinstance(value, Source):
        value = StoredSource.of(value)
    kind = type(value)
    name = _NAMES.get(kind)
    if name is None:
        raise TypeError(f"{kind.__name__} has no name in stored plans")
    data: dict[str, Any] = {KIND: name}
    for field in _FIELDS[kind]:
        found = getattr(value, field.name)
        if field.default is MISSING or found != field.default or type(found) is not type(field.default):
            data[field.stored] = to_data(found)
    return data


def _type_data(kind: SqlType) -> Any:
    match kind:
        case Scalar(name):
            return name
        case DecimalType(precision, scale):
            return {"kind": "DECIMAL", "precision": precision, "scale": scale}
        case ArrayType(item):
            return {"kind": "ARRAY", "item": _type_data(item)}
        case MapType(key, value):
            return {"kind": "MAP", "key": _type_data(key), "item": _type_data(value)}
        case StructType(members):
            return {"kind": "STRUCT", "fields": [[n, _type_data(t)] for n, t in members]}
    raise TypeError(f"{type(kind).__name__} has no name in stored plans")


# ---------------------------------------------------------------- reading


def from_data(data: object, kind: type) -> Any:
    """The value of JSON data that is to be of this class.

    Raises ValueError where the data does not fit it, or names a function or an overload that is gone.
    """
    try:
        return _read(data, kind, _NAMES[StoredSource if kind is Source else kind])
    except RecursionError as e:
        raise ValueError("it is nested too deeply") from e


@dataclass(frozen=True)
class _Wanted:
    """What a field may hold. ``items``: those of a tuple of any length, or one by one; ``values``: of a mapping."""

    none: bool = False
    classes: tuple[type, ...] = ()
    words: tuple[object, ...] = ()
    items: Any = None
    each: tuple[Any, ...] | None = None
    values: Any = None


@cache
def _wanted(hint: Any) -> _Wanted:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        parts = [_wanted(a) for a in arguments]
        several = [p for p in parts if p.items is not None or p.each is not None or p.values is not None]
        first = several[0] if several else _Wanted()
        return _Wanted(
            any(p.none for p in parts),
            tuple(c for p in parts for c in p.classes),
            tuple(w for p in parts for w in p.words),
            first.items,
            first.each,
            first.values,
        )
    if hint is type(None):
        return _Wanted(none=True)
    if origin is Literal:
        return _Wanted(words=arguments)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return _Wanted(items=arguments[0])
        return _Wanted(each=arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _Wanted(values=arguments[1])
    return _Wanted(classes=(hint,))


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(data: Any, hint: Any, where: str) -> Any:
    wanted = _wanted(hint)
    if data is None:
        if wanted.none:
            return None
    elif isinstance(data, dict):
        if wanted.values is not None:
            return {name: _read(value, wanted.values, where) for name, value in data.items()}
        if KIND in data:
            found = _object(data, where)
            if isinstance(found, wanted.classes):
                return found
        elif SqlType in wanted.classes:
            return _type(data)
    elif isinstance(data, list):
        if wanted.items is not None:
            return tuple([_read(item, wanted.items, where) for item in data])
        if wanted.each is not None and len(data) == len(wanted.each):
            return tuple([_read(item, part, where) for item, part in zip(data, wanted.each, strict=True)])
    elif isinstance(data, str) and SqlType in wanted.classes:
        return _type(data)
    elif data in wanted.words or type(data) in wanted.classes:
        return data
    raise ValueError(f"its {where} is of a wrong type")


def _object(data: dict[str, Any], where: str) -> Any:
    name = data[KIND]
    made = _MADE.get(name) if isinstance(name, str) else None
    if made is not None:
        try:
            return made(data)
        except (KeyError, TypeError, InvalidOperation) as e:
            raise ValueError(f"its {where} holds a {name} that cannot be read") from e
    kind = CLASSES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"its {where} holds {name!r}, which this version does not know")
    hints, values, left = _hints(kind), {}, len(data) - 1
    for field in _FIELDS[kind]:
        if field.stored in data:
            left -= 1
            values[field.name] = _read(data[field.stored], hints[field.name], f"{name}.{field.stored}")
        elif field.default is MISSING:
            raise ValueError(f"its {name} has no field {field.stored}")
    if left:
        known = {KIND, *(f.stored for f in _FIELDS[kind])}
        odd = next(n for n in data if n not in known)
        raise ValueError(f"its {name} has a field {odd} that this version does not know")
    found = kind(**values)
    return found.source() if isinstance(found, StoredSource) else found


def _type(data: Any) -> SqlType:
    match data:
        case str() if data in _SCALARS:
            return Scalar(data)
        case {"kind": "DECIMAL", "precision": int(precision), "scale": int(scale)}:
            return DecimalType(precision, scale)
        case {"kind": "ARRAY", "item": item}:
            return ArrayType(_type(item))
        case {"kind": "MAP", "key": key, "item": item}:
            return MapType(_type(key), _type(item))
        case {"kind": "STRUCT", "fields": list(members)}:
            return StructType(tuple([_member(m) for m in members]))
    raise ValueError(f"it has a type that cannot be read: {data!r}")


def _member(data: Any) -> tuple[str, SqlType]:
    match data:
        case [str(name), kind]:
            return name, _type(kind)
    raise ValueError(f"it has a type that cannot be read: {data!r}")


# ---------------------------------------------------------------- functions


def _call(data: dict[str, Any]) -> Call:
    function, signature = _overload(data["function"], data["parameters"], data.get(PYTHON))
    return Call(function, signature, tuple([_type(a) for a in data["arguments"]]), _type(data["returns"]))


def _overload(name: str, parameters: str, python: Any = None) -> tuple[Function, Signature | AggregateSignature]:
    function = FUNCTIONS.functions.get(name) if python is None else python_function(Definition.from_json(python))
    if function is None:
        raise ValueError(f"there is no function {name} any more")
    signatures: tuple[Signature | AggregateSignature, ...] = function.signatures
    for signature in signatures:
        if str(signature) == parameters:
            return function, signature
    raise ValueError(f"function {name} does not take {parameters} any more")


_MADE: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "call": _call,
    "double": lambda data: float(data["value"]),
    "decimal": lambda data: Decimal(data["value"]),
    "bytes": lambda data: bytes.fromhex(data["value"]),
}
