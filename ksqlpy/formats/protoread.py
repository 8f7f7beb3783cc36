"""Reads messages of Protobuf in Python, by the rules of ``ProtobufReader.java``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ksqlpy.formats.contract import Unreadable
from ksqlpy.formats.java import Misfit, cleaned, decimal_of, double_text, epoch_day, millis, type_text
from ksqlpy.formats.protoschema import DECIMAL, MESSAGES, is_map, is_wrapper, member_of, union_name
from ksqlpy.types import (
    ALL_DIGITS,
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["reader_of"]

_DAY = 86_400_000  # milliseconds; allowed, as in ksqlDB
_SMALL = frozenset({5, 15, 17})  # int32, sfixed32, sint32: FieldDescriptorProto.Type
_LARGE = _SMALL | {3, 4, 6, 7, 13, 16, 18}
_REAL = frozenset({1, 2})
_BOOL, _STRING, _MESSAGE, _BYTES, _ENUM = 8, 9, 11, 12, 14

Take = Callable[[Any], Any]
"""Makes a value of a codec of what Protobuf reads; raises Unreadable."""


def reader_of(message: Any, type_: StructType) -> Callable[[bytes], dict[str, Any]]:
    """What reads the bytes of a message, whose descriptor this is, as a STRUCT; its result raises Unreadable."""
    from google.protobuf import message_factory
    from google.protobuf.message import DecodeError

    make = message_factory.GetMessageClass(message)
    take = _struct(message, type_, "")

    def read(data: bytes) -> dict[str, Any]:
        try:
            found = make.FromString(data)
        except DecodeError as e:
            raise Unreadable("it ends too early, or is no message of Protobuf") from e
        row: dict[str, Any] = take(found)
        return row

    return read


@dataclass(frozen=True)
class _Member:
    """A field of a message, and where it goes to: a column, or a field of the STRUCT that holds a ``oneof``."""

    field: Any
    column: str
    take: Take
    union: StructType | None = None
    within: str | None = None

    @property
    def chosen(self) -> bool:
        """Whether it is one of a ``oneof``."""
        return member_of(self.field) is not None


def _struct(message: Any, type_: StructType, place: str) -> Take:
    """Reads a message as a STRUCT: fields are found as in JSON, those of a ``oneof`` in a STRUCT of its own."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    columns = dict(type_.fields)
    names = {f.name for f in message.fields}
    members = [m for f in message.fields if (m := _member(f, columns, names, place)) is not None]
    wanted = {m.field.number: m.field.name for m in members}

    def take(found: Any) -> dict[str, Any]:
        unknown: Any = UnknownFieldSet(found)
        for each in unknown:
            if each.field_number in wanted:
                said = f"field {each.field_number} ({wanted[each.field_number]})"
                raise Unreadable(f"{said} is of another type than in its schema")
        row: dict[str, Any] = dict.fromkeys(columns)
        for member in members:
            if member.chosen and not found.HasField(member.field.name):
                continue
            value = member.take(found)
            if member.union is None:
                row[member.column] = value
                continue
            row[member.column] = dict.fromkeys(dict(member.union.fields))
            if member.within is not None:
                row[member.column][member.within] = value
        return row

    return take


def _member(field: Any, columns: Mapping[str, SqlType], names: set[str], place: str) -> _Member | None:
    """None for a field that no column is for."""
    inside = f"{place}.{field.name}" if place else field.name
    union = member_of(field)
    outer = None if union is None else _column(columns, union_name(union), frozenset())
    of = None if outer is None else columns[outer]
    if outer is not None and isinstance(of, StructType):
        inner = dict(of.fields)
        to = _column(inner, field.name, frozenset())
        take: Take = (lambda found: None) if to is None else _field(field, inner[to], inside)
        return _Member(field, outer, take, of, to)
    column = _column(columns, field.name, names)
    return None if column is None else _Member(field, column, _field(field, columns[column], inside))


def _column(columns: Mapping[str, SqlType], name: str, others: frozenset[str] | set[str]) -> str | None:
    """The column that the field of a name goes to; ``others``: the names of all fields."""
    if name in columns:
        return name
    upper = name.upper()
    return upper if upper in columns and upper not in others else None


def _field(field: Any, type_: SqlType, place: str) -> Take:
    """Reads a field of a message that is given as a whole."""
    name = field.name
    made = _made(field, type_, place)
    if made is None:
        said = f"{place}: cannot read {_what(field)} as {type_text(type_)}"

        def refuse(found: Any) -> Any:
            there = len(getattr(found, name)) > 0 if field.is_repeated else _is_there(found, field)
            if there:
                raise Unreadable(said)
            return None

        return refuse
    if field.is_repeated:
        return lambda found: made(getattr(found, name))
    presence = field.has_presence
    return lambda found: None if presence and not found.HasField(name) else made(getattr(found, name))


def _is_there(found: Any, field: Any) -> bool:
    return any(f.name == field.name for f, _ in found.ListFields())


def _made(field: Any, type_: SqlType, place: str) -> Take | None:
    if not field.is_repeated:
        return _value(field, type_, place)
    match type_:
        case MapType(_, item):
            return _map(field, item, place)
        case ArrayType(item) if not is_map(field):
            inner = _value(field, item, f"{place}[]")
            return None if inner is None else lambda values: [inner(v) for v in values]
    return None


def _map(field: Any, item: SqlType, place: str) -> Take | None:
    message = field.message_type
    if message is None:
        return None
    key, value = (message.fields_by_name.get(n) for n in ("key", "value"))
    if key is None or value is None or key.type != _STRING or key.is_repeated or value.is_repeated:
        return None
    inner = _value(value, item, f"{place}[]")
    if inner is None:
        return None
    if is_map(field):
        return lambda entries: {cleaned(k): inner(entries[k]) for k in entries}
    absent = value.has_presence and value.type != _MESSAGE

    def take(entries: Any) -> dict[str, Any]:
        return {cleaned(e.key): None if absent and not e.HasField("value") else inner(e.value) for e in entries}

    return take


def _value(field: Any, type_: SqlType, place: str) -> Take | None:
    kind = field.type
    if kind == _MESSAGE:
        return _message(field.message_type, type_, place)
    plain: Mapping[SqlType, frozenset[int]] = {
        BOOLEAN: frozenset({_BOOL}), INTEGER: _SMALL, DATE: _SMALL, BYTES: frozenset({_BYTES}), DOUBLE: _REAL,
    }  # fmt: skip
    if type_ in plain:
        return (lambda v: v) if kind in plain[type_] else None
    if type_ == TIME and kind in _SMALL:
        return lambda v: _clock(v, place)
    if type_ in (BIGINT, TIMESTAMP) and kind in _LARGE:
        return _signed if type_ == BIGINT else lambda v: _moment(_signed(v), place)
    return _text(field) if type_ == STRING else None


def _signed(value: int) -> int:
    """Of 64 bits, as Java has it."""
    return value - 2**64 if value >= 2**63 else value


def _text(field: Any) -> Take | None:
    kind = field.type
    if kind == _STRING:
        return cleaned
    if kind == _ENUM:
        names: dict[int, str] = {}
        for value in field.enum_type.values:
            names.setdefault(value.number, value.name)
        return lambda v: names.get(v, str(v))
    if kind == _BOOL:
        return lambda v: "true" if v else "false"
    if kind in _REAL:
        return double_text
    return (lambda v: str(_signed(v))) if kind in _LARGE else None


def _wrong(place: str, value: object, type_: str, why: str) -> Unreadable:
    return Unreadable(f"{f'{place}: ' if place else ''}cannot read {value} as {type_}, {why}")


def _clock(found: int, place: str) -> int:
    if not 0 <= found <= _DAY:
        raise _wrong(place, found, "TIME", "not a number of milliseconds within a day")
    return found


def _moment(found: int, place: str) -> int:
    try:
        return millis(found)
    except Misfit:
        raise _wrong(place, found, "TIMESTAMP", "out of range") from None


# ---------------------------------------------------------------- messages


def _message(message: Any, type_: SqlType, place: str) -> Take | None:
    if isinstance(type_, StructType):
        return _struct(message, type_, place)
    if isinstance(type_, DecimalType):
        return (lambda v: _decimal(v, type_, place)) if message.full_name == DECIMAL else None
    if type_ in MESSAGES and message.full_name == MESSAGES[type_]:
        return (_date if type_ == DATE else _time if type_ == TIME else _timestamp)(place)
    if not is_wrapper(message):
        return None
    inner = _value(message.fields[0], type_, place)
    return None if inner is None else lambda v: inner(v.value)


def _date(place: str) -> Take:
    def take(found: Any) -> int:
        try:
            return epoch_day(found.year, found.month, found.day)
        except Misfit:
            shown = f"{found.year}-{found.month}-{found.day}"
            raise _wrong(place, shown, "DATE", "not a date") from None

    return take


def _time(place: str) -> Take:
    def take(found: Any) -> int:
        parts = (found.hours, found.minutes, found.seconds, found.nanos)
        if not all(0 <= part < most for part, most in zip(parts, (25, 61, 61, 10**9), strict=True)):
            shown = ":".join(map(str, parts[:3]))
            raise _wrong(place, shown, "TIME", "not a time of the day")
        return _clock(((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000 + parts[3] // 1_000_000, place)

    return take


def _timestamp(place: str) -> Take:
    def take(found: Any) -> int:
        try:
            return millis(found.seconds * 1000 + found.nanos // 1_000_000)
        except Misfit:
            raise _wrong(place, found.seconds, "TIMESTAMP", "out of range") from None

    return take


def _decimal(found: Any, type_: DecimalType, place: str) -> Decimal:
    whole = Decimal(int.from_bytes(found.value, signed=True))
    try:
        number = whole.scaleb(-found.scale, ALL_DIGITS)
    except ArithmeticError:  # of decimal: a scale that no column has
        raise _wrong(place, f"{whole}E{-found.scale}", str(type_), "out of range") from None
    try:
        return decimal_of(number, type_)
    except Misfit as e:
        raise _wrong(place, format(number, "f"), str(type_), str(e)) from None


def _what(field: Any) -> str:
    if is_map(field):
        return "a map"
    single = {_MESSAGE: "message", _ENUM: "enum"}.get(field.type) or _NAMES[field.type]
    return f"repeated {single}" if field.is_repeated else single


_NAMES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string",
    10: "group", 12: "bytes", 13: "uint32", 15: "sfixed32", 16: "sfixed64", 17: "sint32", 18: "sint64",
}  # fmt: skip
