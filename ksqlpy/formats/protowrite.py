"""Writes messages of Protobuf in Python, by the rules of ``ProtobufWriter.java``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isnan, nan
from typing import Any

from ksqlpy.formats.java import civil_date, cleaned
from ksqlpy.formats.protoschema import MESSAGES, is_map, is_wrapper
from ksqlpy.types import DATE, TIME, ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = ["writer_of"]

_BITS = {13: 32, 7: 32, 4: 64, 6: 64}
"""The unsigned numbers of Protobuf, by FieldDescriptorProto.Type."""

Put = Callable[[Any, Any], None]
"""Puts a value of a codec, which is not null, into a message."""


def writer_of(message: Any, type_: StructType) -> Callable[[Mapping[str, Any]], bytes]:
    """What writes a STRUCT as a message, whose descriptor this is.

    Raises ValueError where the message lacks a field of the STRUCT, or has one of another type.
    """
    from google.protobuf import message_factory

    make = message_factory.GetMessageClass(message)
    put = _struct(message, type_)

    def write(value: Mapping[str, Any]) -> bytes:
        found = make()
        put(found, value)
        data: bytes = found.SerializeToString()
        return data

    return write


def _struct(message: Any, type_: StructType) -> Put:
    fields = {f.name: f for f in message.fields}
    cased = {n.upper(): f for n, f in reversed(fields.items())}
    puts: list[tuple[str, Put]] = []
    for name, of in type_.fields:
        field = fields.get(name) or cased.get(name.upper())
        if field is None:
            raise ValueError(f"message {message.full_name} has no field {name}")
        puts.append((name, _field(field, of)))

    def put(found: Any, value: Mapping[str, Any]) -> None:
        for name, each in puts:
            if value[name] is not None:
                each(found, value[name])

    return put


def _field(field: Any, type_: SqlType) -> Put:
    name = field.name
    match type_:
        case ArrayType(item) if field.is_repeated:
            return _items(field, item)
        case MapType(_, item) if field.is_repeated and field.message_type is not None:
            return _entries(field, item)
    if field.is_repeated:
        raise ValueError(f"field {name} is repeated, {type_} is not")
    if field.message_type is None:
        return lambda found, value: setattr(found, name, _plain(field, value))
    inner = _message(field.message_type, type_)

    def put(found: Any, value: Any) -> None:
        part = getattr(found, name)
        part.SetInParent()
        inner(part, value)

    return put


def _items(field: Any, item: SqlType) -> Put:
    name = field.name
    if field.message_type is None:
        zero = _zero(field)
        return lambda found, value: getattr(found, name).extend(zero if v is None else _plain(field, v) for v in value)
    inner = _message(field.message_type, item)

    def put(found: Any, value: Any) -> None:
        for each in value:
            part = getattr(found, name).add()
            if each is not None:
                inner(part, each)

    return put


def _entries(field: Any, item: SqlType) -> Put:
    name, content = field.name, field.message_type.fields_by_name["value"]
    inner = None if content.message_type is None else _message(content.message_type, item)

    def put(found: Any, value: Mapping[str, Any]) -> None:
        entries = getattr(found, name)
        for key, each in value.items():
            if is_map(field):
                if inner is None:
                    entries[cleaned(key)] = _zero(content) if each is None else _plain(content, each)
                else:
                    part = entries[cleaned(key)]
                    if each is not None:
                        inner(part, each)
                continue
            entry = entries.add(key=cleaned(key))
            if inner is None:
                entry.value = _zero(content) if each is None else _plain(content, each)
            else:
                entry.value.SetInParent()
                if each is not None:
                    inner(entry.value, each)

    return put


def _zero(field: Any) -> Any:
    return b"" if field.type == 12 else "" if field.type == 9 else 0


def _plain(field: Any, value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, float) and isnan(value):
        return nan  # of many NaNs the one that Java writes
    bits = _BITS.get(field.type)
    return value if bits is None else value % 2**bits


def _message(message: Any, type_: SqlType) -> Put:
    if isinstance(type_, StructType):
        return _struct(message, type_)
    if isinstance(type_, DecimalType):
        return _decimal
    if type_ in MESSAGES and message.full_name == MESSAGES[type_]:
        return _date if type_ == DATE else _time if type_ == TIME else _timestamp
    if is_wrapper(message):
        return lambda found, value: setattr(found, "value", _plain(message.fields[0], value))
    raise ValueError(f"message {message.full_name} is no {type_}")


def _date(found: Any, value: int) -> None:
    found.year, found.month, found.day = civil_date(value)


def _time(found: Any, value: int) -> None:
    seconds, rest = divmod(value, 1000)
    found.hours, found.minutes, found.seconds, found.nanos = (
        seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1_000_000,
    )  # fmt: skip


def _timestamp(found: Any, value: int) -> None:
    seconds, rest = divmod(value, 1000)
    found.seconds, found.nanos = seconds, rest * 1_000_000


def _decimal(found: Any, value: Decimal) -> None:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    # As Java's BigInteger does: the fewest bytes that keep the sign.
    found.value = whole.to_bytes((whole if whole >= 0 else ~whole).bit_length() // 8 + 1, signed=True)
    found.precision, found.scale = len(str(abs(whole))), -exponent  # Java's BigDecimal counts 1 digit of 0
