"""Values on their way between a function in Python and who calls it: bytes whose meaning the types say.

This file stands alone, as ``worker.py`` does: both run in one namespace on machines without ksqlpy. All numbers are
big-endian. A value is a byte, 1 for null, else 0 and: BOOLEAN a byte; INTEGER, DATE (days) and TIME (ms) int32; BIGINT
and TIMESTAMP (µs) int64; DOUBLE; STRING (UTF-8) and BYTES with their lengths; DECIMAL as a text of its digits; ARRAY
and MAP with the number of items, keys ahead of their values; STRUCT as its fields. ``jvm/python/PythonType.java`` has
the other side. Types are described as by :func:`ksqlpy.types.type_to_json`.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

LONGEST = 10_000_000
"""Bytes of a result; a longer one fits no record. As in ``Bounded.java``."""

_INT, _LONG, _DOUBLE = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">d")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)  # noqa: UP017  # executors may have an older Python
_DAY_0 = dt.date(1970, 1, 1).toordinal()
_MICROSECOND, _MILLISECOND = dt.timedelta(microseconds=1), dt.timedelta(milliseconds=1)
_ALL_DIGITS = Context(prec=2000)


Read = Callable[[Any, int], "tuple[Any, int]"]
Write = Callable[[bytearray, Any], None]


class Struct(dict):  # type: ignore[type-arg]  # what is in it only a declaration says
    """A STRUCT: a dict of its fields, which are attributes, too, also in lower case."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        for field in self:
            if field.lower() == name:
                return self[field]
        raise AttributeError(f"the STRUCT has no field {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        for field in self:
            if name in (field, field.lower()):
                self[field] = value
                return
        raise AttributeError(f"the STRUCT has no field {name}")


class Unfit(Exception):
    """A result that is not of the type that the function was declared with."""


# ---------------------------------------------------------------- values in


def reader(kind: Any, plain: bool = False) -> Read:
    """From a type to a function (bytes, place) → (value, place behind it).

    ``plain``: DATE, TIME and TIMESTAMP are numbers of days, ms and ms.
    """
    name = kind["kind"] if isinstance(kind, dict) else kind
    inner = (_PLAIN_READERS.get(name, _READERS[name]) if plain else _READERS[name])(kind, plain)

    def read(data: Any, at: int) -> tuple[Any, int]:
        return (None, at + 1) if data[at] else inner(data, at + 1)

    return read


def _fixed(form: struct.Struct, size: int, convert: Callable[[int], Any] | None = None) -> Read:
    unpack = form.unpack_from
    if convert is None:
        return lambda data, at: (unpack(data, at)[0], at + size)
    return lambda data, at: (convert(unpack(data, at)[0]), at + size)


def _read_bytes(data: Any, at: int) -> tuple[bytes, int]:
    end = at + 4 + _INT.unpack_from(data, at)[0]
    return bytes(data[at + 4 : end]), end


def _read_string(data: Any, at: int) -> tuple[str, int]:
    end = at + 4 + _INT.unpack_from(data, at)[0]
    return str(data[at + 4 : end], "utf-8", "replace"), end


def _read_decimal(data: Any, at: int) -> tuple[Decimal, int]:
    text, end = _read_string(data, at)
    return Decimal(text), end


def _array_reader(kind: Any, plain: bool) -> Read:
    item = reader(kind["item"], plain)

    def read(data: Any, at: int) -> tuple[Any, int]:
        count, at, found = _INT.unpack_from(data, at)[0], at + 4, []
        for _ in range(count):
            value, at = item(data, at)
            found.append(value)
        return found, at

    return read


def _map_reader(kind: Any, plain: bool) -> Read:
    key, item = reader(kind["key"], plain), reader(kind["item"], plain)

    def read(data: Any, at: int) -> tuple[Any, int]:
        count, at, found = _INT.unpack_from(data, at)[0], at + 4, {}
        for _ in range(count):
            name, at = key(data, at)
            found[name], at = item(data, at)
        return found, at

    return read


def _struct_reader(kind: Any, plain: bool) -> Read:
    fields = [(name, reader(t, plain)) for name, t in kind["fields"]]

    def read(data: Any, at: int) -> tuple[Any, int]:
        found = Struct()
        for name, field in fields:
            found[name], at = field(data, at)
        return found, at

    return read


def _as_time(ms: int) -> dt.time:
    return (dt.datetime.min + dt.timedelta(milliseconds=ms)).time()


_READERS: dict[str, Callable[[Any, bool], Read]] = {
    "BOOLEAN": lambda *_: lambda data, at: (data[at] != 0, at + 1),
    "INTEGER": lambda *_: _fixed(_INT, 4),
    "BIGINT": lambda *_: _fixed(_LONG, 8),
    "DOUBLE": lambda *_: _fixed(_DOUBLE, 8),
    "STRING": lambda *_: _read_string,
    "BYTES": lambda *_: _read_bytes,
    "DATE": lambda *_: _fixed(_INT, 4, lambda days: dt.date.fromordinal(days + _DAY_0)),
    "TIME": lambda *_: _fixed(_INT, 4, _as_time),
    "TIMESTAMP": lambda *_: _fixed(_LONG, 8, lambda us: _EPOCH + dt.timedelta(microseconds=us)),
    "DECIMAL": lambda *_: _read_decimal,
    "ARRAY": _array_reader,
    "MAP": _map_reader,
    "STRUCT": _struct_reader,
}

_PLAIN_READERS: dict[str, Callable[[Any, bool], Read]] = {
    "DATE": lambda *_: _fixed(_INT, 4),
    "TIME": lambda *_: _fixed(_INT, 4),
    "TIMESTAMP": lambda *_: _fixed(_LONG, 8, lambda us: us // 1000),
}


# ---------------------------------------------------------------- values out


def writer(kind: Any, plain: bool = False) -> Write:
    """From a type to a function (bytearray, value) that appends the value; it raises Unfit. ``plain``: see reader."""
    name = kind["kind"] if isinstance(kind, dict) else kind
    inner = (_PLAIN_WRITERS.get(name, _WRITERS[name]) if plain else _WRITERS[name])(kind, plain)

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(1)
        else:
            out.append(0)
            inner(out, value)

    return write


def _unfit(value: object, wanted: str) -> Unfit:
    shown = type(value).__name__
    return Unfit(f"the result must be {wanted}, not {'an' if shown[:1] in 'aeiou' else 'a'} {shown}")


def _room(out: bytearray, more: int) -> None:
    if len(out) + more > LONGEST:
        raise Unfit(f"the result is too large: {len(out) + more:,} bytes or more, and {LONGEST:,} are allowed")


def _write_boolean(out: bytearray, value: Any) -> None:
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):  # numpy has its own
        raise _unfit(value, "a bool")
    out.append(1 if value else 0)


def _whole(name: str, form: struct.Struct, bits: int) -> Write:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1

    def write(out: bytearray, value: Any) -> None:
        try:
            number = value if type(value) is int else value.__index__()
        except (AttributeError, TypeError):
            raise _unfit(value, "an int") from None
        if not least <= number <= most:
            raise Unfit(f"the result is out of the range of {name}")
        out += form.pack(number)

    return write


def _write_double(out: bytearray, value: Any) -> None:
    if type(value) is not float:
        if isinstance(value, (str, bytes, bytearray)):
            raise _unfit(value, "a float")
        try:
            value = float(value)
        except (TypeError, ValueError):
            raise _unfit(value, "a float") from None
        except OverflowError:
            raise Unfit("the result is out of the range of DOUBLE") from None
    out += _DOUBLE.pack(value)


def _write_string(out: bytearray, value: Any) -> None:
    if not isinstance(value, str):
        raise _unfit(value, "a str")
    _room(out, len(value))
    data = value.encode("utf-8", "replace")
    _room(out, len(data))
    out += _INT.pack(len(data))
    out += data


def _write_bytes(out: bytearray, value: Any) -> None:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _unfit(value, "bytes")
    data = value.tobytes() if isinstance(value, memoryview) else value
    _room(out, len(data))
    out += _INT.pack(len(data))
    out += data


def _write_date(out: bytearray, value: Any) -> None:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise _unfit(value, "a date")
    out += _INT.pack(value.toordinal() - _DAY_0)


def _write_time(out: bytearray, value: Any) -> None:
    if not isinstance(value, dt.time):
        raise _unfit(value, "a time")
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    out += _INT.pack(seconds * 1000 + value.microsecond // 1000)


def _write_timestamp(out: bytearray, value: Any) -> None:
    if not isinstance(value, dt.datetime):
        raise _unfit(value, "a datetime")
    there = value if value.tzinfo is not None else value.replace(tzinfo=_EPOCH.tzinfo)
    out += _LONG.pack((there - _EPOCH) // _MILLISECOND * 1000)


def _decimal_writer(kind: Any, _: bool) -> Write:
    precision, scale = kind["precision"], kind["scale"]
    least = Decimal(1).scaleb(-scale)

    def write(out: bytearray, value: Any) -> None:
        if isinstance(value, float):
            value = Decimal(repr(value))
        elif not isinstance(value, (int, Decimal)):
            raise _unfit(value, "a Decimal")
        found = Decimal(value)
        if not found.is_finite() or found.adjusted() > precision:
            raise Unfit(f"the result is out of the range of DECIMAL({precision}, {scale})")
        found = found.quantize(least, ROUND_HALF_UP, _ALL_DIGITS)
        if len(found.as_tuple().digits) > precision and found:
            raise Unfit(f"the result is out of the range of DECIMAL({precision}, {scale})")
        _write_string(out, format(found, "f"))

    return write


def _array_writer(kind: Any, plain: bool) -> Write:
    item = writer(kind["item"], plain)

    def write(out: bytearray, value: Any) -> None:
        if isinstance(value, (str, bytes, bytearray, dict)):
            raise _unfit(value, "a list")
        try:
            items = iter(value)
        except TypeError:
            raise _unfit(value, "a list") from None
        place, count = len(out), 0
        out += b"\0\0\0\0"
        for one in items:  # may have no end
            item(out, one)
            count += 1
            _room(out, 0)
        _INT.pack_into(out, place, count)

    return write


def _map_writer(kind: Any, plain: bool) -> Write:
    key, item = writer(kind["key"], plain), writer(kind["item"], plain)

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, dict):
            raise _unfit(value, "a dict")
        out += _INT.pack(len(value))
        for name, one in value.items():
            if name is None:
                raise Unfit("a key of a MAP is None")
            key(out, name)
            item(out, one)
            _room(out, 0)

    return write


def _struct_writer(kind: Any, plain: bool) -> Write:
    fields = [(name, name.lower(), writer(t, plain)) for name, t in kind["fields"]]
    known = {name for both in fields for name in both[:2]}

    def write(out: bytearray, value: Any) -> None:
        if isinstance(value, dict):
            for name in value:
                if name not in known:
                    raise Unfit(f"the STRUCT has no field {name}")
            for name, lower, field in fields:
                field(out, value[name] if name in value else value.get(lower))
        elif isinstance(value, (str, bytes, int, float, list, tuple)) and not hasattr(value, "_fields"):
            raise _unfit(value, "a dict, or an object with the fields as attributes")
        else:
            for name, lower, field in fields:
                field(out, getattr(value, name) if hasattr(value, name) else getattr(value, lower, None))

    return write


_WRITERS: dict[str, Callable[[Any, bool], Write]] = {
    "BOOLEAN": lambda *_: _write_boolean,
    "INTEGER": lambda *_: _whole("INTEGER", _INT, 32),
    "BIGINT": lambda *_: _whole("BIGINT", _LONG, 64),
    "DOUBLE": lambda *_: _write_double,
    "STRING": lambda *_: _write_string,
    "BYTES": lambda *_: _write_bytes,
    "DATE": lambda *_: _write_date,
    "TIME": lambda *_: _write_time,
    "TIMESTAMP": lambda *_: _write_timestamp,
    "DECIMAL": _decimal_writer,
    "ARRAY": _array_writer,
    "MAP": _map_writer,
    "STRUCT": _struct_writer,
}

_PLAIN_WRITERS: dict[str, Callable[[Any, bool], Write]] = {
    "DATE": lambda *_: _whole("DATE", _INT, 32),
    "TIME": lambda *_: _whole("TIME", _INT, 32),
    "TIMESTAMP": lambda *_: lambda out, value: out.extend(_LONG.pack(value * 1000)),
}


# ---------------------------------------------------------------- a whole call


def caller(takes: Sequence[Any], gives: Any, function: Callable[..., Any], most: int) -> Callable[[Any, int], Any]:
    """From the types and the function to one that makes an answer, with its head, of bytes and the place of arguments.

    It is made as a text, without a loop and a call for each value: these take longer than many a function.
    ``most``: bytes of the answer.
    """
    names = [f"a{i}" for i in range(len(takes))]
    known: dict[str, Any] = {"function": function, "write": writer(gives), "check": _most(most)}
    known.update({"length_at": _INT.unpack_from, "length": _INT.pack, **_PACKS})
    lines = ["def call(data, at):"]
    for name, kind in zip(names, takes, strict=True):
        if kind == "STRING":
            there = ["  end = at + 5 + length_at(data, at + 1)[0]"]
            there += [f"  {name}, at = data[at + 5 : end].decode('utf-8', 'replace'), end"]
        elif isinstance(kind, str) and kind in _FIXED:
            known[f"{kind}_at"], size = _FIXED[kind].unpack_from, _FIXED[kind].size + 1
            there = [f"  ({name},), at = {kind}_at(data, at + 1), at + {size}"]
        else:
            known[f"read_{name}"] = reader(kind)
            lines.append(f" {name}, at = read_{name}(data, at)")
            continue
        lines += [" if data[at]:", f"  {name}, at = None, at + 1", " else:", *there]
    lines.append(f" value = function({', '.join(names)})")
    if isinstance(gives, str) and gives in _SOON and most == LONGEST:
        condition, *soon = _SOON[gives]
        lines += [f" if {condition}:", *(f"  {line}" for line in soon)]
    lines += [" out = bytearray(5)", " write(out, value)", " check(out)", " out[:4] = length(len(out) - 4)"]
    exec(compile("\n".join([*lines, " return out"]), "<ksqlpy call>", "exec"), known)
    made: Callable[[Any, int], Any] = known["call"]
    return made


def _most(most: int) -> Callable[[bytearray], None]:
    what = "result" if most == LONGEST else "state"

    def check(out: bytearray) -> None:
        if len(out) > most:
            raise Unfit(f"the {what} is too large: {len(out):,} bytes, and {most:,} are allowed")

    return check


_FIXED = {"INTEGER": _INT, "BIGINT": _LONG, "DOUBLE": _DOUBLE}

_PACKS = {
    "integer": struct.Struct(">ibbi").pack,
    "bigint": struct.Struct(">ibbq").pack,
    "double": struct.Struct(">ibbd").pack,
    "string": struct.Struct(">ibbi").pack,
    "true": b"\0\0\0\3\0\0\1",
    "false": b"\0\0\0\3\0\0\0",
}

_SOON = {
    "BOOLEAN": ("value is True or value is False", "return true if value else false"),
    "INTEGER": ("type(value) is int and -0x80000000 <= value <= 0x7FFFFFFF", "return integer(6, 0, 0, value)"),
    "BIGINT": (
        "type(value) is int and -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF",
        "return bigint(10, 0, 0, value)",
    ),
    "DOUBLE": ("type(value) is float", "return double(10, 0, 0, value)"),
    "STRING": (
        "type(value) is str and len(value) < 100000",
        "text = value.encode('utf-8', 'replace')",
        "return string(len(text) + 6, 0, 0, len(text)) + text",
    ),
}
"""For types of results: the values whose answers are made at once, and how; all others are the writer's."""
