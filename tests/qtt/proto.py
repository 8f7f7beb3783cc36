"""Values of cases to Protobuf and back, by google.protobuf and the schema that the registry has."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from google.protobuf import message_factory

from ksqlpy.formats.protofile import ProtoFile
from ksqlpy.types import ALL_DIGITS

__all__ = ["from_proto", "message_for", "place_bytes", "to_proto"]

_DAY = date(1970, 1, 1)


def message_for(file: ProtoFile, tree: Any) -> tuple[tuple[int, ...], Any]:
    """The first message that has all fields of a tree, and its place; raises ValueError."""
    names = {n.upper() for n in tree} if isinstance(tree, dict) else set()
    for index in range(100):
        try:
            message = file.at((index,))
        except ValueError:
            break
        if names <= {f.name.upper() for f in message.fields}:
            return (index,), message
    raise ValueError(f"no message has the fields {sorted(names)}")


def to_proto(message: Any, tree: Any) -> bytes:
    """The bytes of a tree of JSON; a value that stands alone is that of the first field. Raises ValueError."""
    found = message_factory.GetMessageClass(message)()
    try:
        _put(found, tree if isinstance(tree, dict) else {message.fields[0].name: tree})
    except (TypeError, KeyError, AttributeError, ArithmeticError) as e:
        raise ValueError(f"{tree!r} is nothing of {message.full_name}: {e}") from e
    data: bytes = found.SerializeToString()
    return data


def _put(found: Any, tree: Any) -> None:
    name = found.DESCRIPTOR.full_name
    if name == "google.type.Date":
        day = _DAY + timedelta(days=int(tree))
        found.year, found.month, found.day = day.year, day.month, day.day
    elif name == "google.type.TimeOfDay":
        seconds, rest = divmod(int(tree), 1000)
        found.hours, found.minutes, found.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
        found.nanos = rest * 1_000_000
    elif name == "google.protobuf.Timestamp":
        found.seconds, rest = divmod(int(tree), 1000)
        found.nanos = rest * 1_000_000
    elif name == "confluent.type.Decimal":
        number = Decimal(str(tree))
        scale = max(0, -int(number.as_tuple().exponent))
        whole = int(number.scaleb(scale, ALL_DIGITS))
        found.value = whole.to_bytes((whole if whole >= 0 else ~whole).bit_length() // 8 + 1, signed=True)
        found.precision, found.scale = len(str(abs(whole))), scale
    elif not isinstance(tree, dict):
        _set(found, found.DESCRIPTOR.fields[0], tree)  # a wrapper
    else:
        given = {k.upper(): v for k, v in tree.items()}
        for field in found.DESCRIPTOR.fields:
            if given.get(field.name.upper()) is not None:
                _set(found, field, given[field.name.upper()])


def _set(found: Any, field: Any, value: Any) -> None:
    if field.is_repeated and isinstance(value, dict):
        entry = field.message_type.fields_by_name["value"]
        entries = getattr(found, field.name)
        for key, each in value.items():
            if entry.message_type is None:
                entries[key] = _zero(entry) if each is None else _scalar(entry, each)
            else:
                _put(entries[key], each or {})
    elif field.is_repeated:
        for each in value:
            if field.message_type is None:
                getattr(found, field.name).append(_zero(field) if each is None else _scalar(field, each))
            else:
                _put(getattr(found, field.name).add(), {} if each is None else each)
    elif field.message_type is None:
        setattr(found, field.name, _scalar(field, value))
    else:
        part = getattr(found, field.name)
        part.SetInParent()
        _put(part, value)


def _zero(field: Any) -> Any:
    return b"" if field.type == 12 else "" if field.type == 9 else 0


def _scalar(field: Any, value: Any) -> Any:
    if field.type == 12:
        return base64.b64decode(value)
    if field.type in (1, 2):
        return float(value)
    if field.type in (8, 9):
        return value
    return field.enum_type.values_by_name[value].number if field.enum_type is not None else int(value)


# ---------------------------------------------------------------- from bytes


def from_proto(message: Any, data: bytes) -> Any:
    """The tree of JSON that bytes stand for."""
    return _tree(message_factory.GetMessageClass(message).FromString(data))


def _tree(found: Any) -> Any:
    name = found.DESCRIPTOR.full_name
    if name == "google.type.Date":
        return (date(found.year, found.month, found.day) - _DAY).days
    if name == "google.type.TimeOfDay":
        return ((found.hours * 60 + found.minutes) * 60 + found.seconds) * 1000 + found.nanos // 1_000_000
    if name == "google.protobuf.Timestamp":
        return found.seconds * 1000 + found.nanos // 1_000_000
    if name == "confluent.type.Decimal":
        return Decimal(int.from_bytes(found.value, signed=True)).scaleb(-found.scale, ALL_DIGITS)
    if name.startswith("google.protobuf.") and name.endswith("Value"):
        return _shown(found.DESCRIPTOR.fields[0], found.value)
    return {field.name: _field(found, field) for field in found.DESCRIPTOR.fields}


def _field(found: Any, field: Any) -> Any:
    value = getattr(found, field.name)
    if field.is_repeated and hasattr(value, "items"):
        entry = field.message_type.fields_by_name["value"]
        return {k: _shown(entry, value[k]) for k in value}
    if field.is_repeated:
        return [_shown(field, v) for v in value]
    if field.has_presence and not found.HasField(field.name):
        return None
    return _shown(field, value)


def _shown(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _tree(value)
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def place_bytes(place: Sequence[int]) -> bytes:
    """The place of a message as it stands behind the id, for places below 64."""
    return b"\0" if tuple(place) == (0,) else bytes(2 * n for n in (len(place), *place))
