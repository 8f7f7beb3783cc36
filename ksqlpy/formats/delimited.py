"""Format DELIMITED: a line of fields, as Apache commons-csv's default format has it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ksqlpy.catalog import PartSpec
from ksqlpy.formats import text
from ksqlpy.formats.contract import BARE, Codec, Format, Limits, Unreadable, Written
from ksqlpy.formats.java import (
    LONGEST_NUMBER,
    Misfit,
    big_decimal,
    brief,
    cleaned,
    decimal_of,
    decimal_text,
    double_of,
    double_text,
    java_text,
    millis,
    units,
    whole_of,
)
from ksqlpy.formats.jvm import jvm_reader
from ksqlpy.functions.sparktext import bound
from ksqlpy.types import BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP, DecimalType, SqlType

__all__ = ["DELIMITED", "DELIMITERS", "delimiter"]

DELIMITERS: Mapping[str, str] = MappingProxyType({"SPACE": " ", "TAB": "\t"})
"""Delimiters that have a name."""

_NO_DELIMITERS = '"\r\n'  # they have another meaning in such texts
_DAY = 86_400_000  # milliseconds; allowed, as in JSON


def delimiter(value: object) -> str:
    """The character that KEY_DELIMITER and VALUE_DELIMITER name; raises ValueError with what they take."""
    if isinstance(value, str):
        found = DELIMITERS.get(value.upper(), value)
        if units(found) == 1 and found not in _NO_DELIMITERS:
            return found
    raise ValueError(f"one character, or {' or '.join(DELIMITERS)}")


class _Delimited(Format):
    name = "DELIMITED"
    about = "a line of fields with commas between them, or what KEY_DELIMITER and VALUE_DELIMITER say; scalars only"
    limits = Limits(nested=False, wraps=BARE, delimited=True)
    key_in_line = re.compile(r'(?:"(?:[^"]|"")*"|[^\s"])+')

    def reader(self, spec: PartSpec, data: str) -> str:
        """``DelimitedReader.java``."""
        return jvm_reader(self.name, spec, data, delimiter=spec.delimiter)

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """The line; null for a bare null."""
        fields = [_spark_field(_spark_text(c), spec.delimiter, first=i == 0) for i, c in enumerate(columns)]
        line = f"cast(concat_ws({text.string(spec.delimiter)}, {', '.join(fields)}) as binary)"
        return f"case when {columns[0].value} is not null then {line} end" if spec.bare else line

    def codec(self, spec: PartSpec) -> Codec:
        """The same in Python."""
        return _DelimitedCodec(spec)


DELIMITED = _Delimited()


# ---------------------------------------------------------------- Spark


def _spark_text(column: Written) -> str:
    """The value as the text of a field, null if it is null."""
    if column.type == STRING:
        return column.value
    if column.type == BYTES:
        return f"base64({column.value})"
    if isinstance(column.type, DecimalType):
        return f"try_cast({column.value} as string)"  # a plain cast writes small numbers with an exponent
    return f"cast({text.number(column.value, column.type)} as string)"


_QUOTED_ALWAYS = '[\\r\\n"]|[\\x00- ]\\z'
_QUOTED_FIRST = "^[^0-9A-Za-z]"
_QUOTED_LATER = "^[\\x00-#]"


def _spark_field(field: str, between: str, *, first: bool) -> str:
    """A field, in quotes where Apache commons-csv writes them (its version 1.4, QuoteMode.MINIMAL)."""
    pattern = text.string(f"{_QUOTED_FIRST if first else _QUOTED_LATER}|{_QUOTED_ALWAYS}")
    empty = "'\"\"'" if first else "''"  # else a line of one empty text would be an empty line

    def written(value: str) -> str:
        return (
            f"case when {value} is null then '' when {value} = '' then {empty} when {value} rlike {pattern}"
            f" or contains({value}, {text.string(between)}) then concat('\"', replace({value}, '\"', '\"\"'), '\"')"
            f" else {value} end"
        )

    return bound(field, written)


# ---------------------------------------------------------------- Python

_END = "\r\n"
_WHITE = frozenset(
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u2028\u2029"
    "\u205f\u3000"
)  # Character.isWhitespace
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")
_QUOTES_FIRST, _QUOTES_LATER = (
    re.compile(f"{p}|{_QUOTED_ALWAYS}".replace("\\z", "\\Z")) for p in (_QUOTED_FIRST, _QUOTED_LATER)
)


class _DelimitedCodec:
    def __init__(self, spec: PartSpec) -> None:
        self._types = [c.type for c in spec.columns]
        self._bare, self._between = spec.bare, spec.delimiter

    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        if data is None:
            return None
        fields, wanted = self._fields(java_text(data)), len(self._types)
        if not fields:
            raise Unreadable("no delimited text: there is no field")
        if len(fields) != wanted:
            columns = "is 1 column" if wanted == 1 else f"are {wanted} columns"
            found = f"{len(fields)} field" + ("" if len(fields) == 1 else "s")
            raise Unreadable(f"the record has {found}, there {columns}")
        row = tuple(_value(f, t, i) for i, (f, t) in enumerate(zip(fields, self._types, strict=True)))
        return None if self._bare and row[0] is None else row

    def _fields(self, line: str) -> list[str]:
        """The fields of the first line that is not empty."""
        fields: list[str] = []
        line = line.lstrip(_END)
        at = 0
        while line:
            if line.startswith('"', at):
                field, at = self._quoted(line, at + 1)
            else:
                begin, at = at, self._end(line, at)
                field = line[begin:at]
            fields.append(field)
            if at == len(line) or line[at] in _END:
                break
            at += 1
        return fields

    def _end(self, line: str, at: int) -> int:
        while at < len(line) and line[at] != self._between and line[at] not in _END:
            at += 1
        return at

    def _quoted(self, line: str, at: int) -> tuple[str, int]:
        """A field whose first quote has been read, and the place of what ends it."""
        pieces = []
        while True:
            end = line.find('"', at)
            if end < 0:
                raise Unreadable("no delimited text: a quote has no end")
            pieces.append(line[at:end])
            at = end + 1
            if not line.startswith('"', at):
                break
            at += 1
        end = self._end(line, at)
        odd = next((c for c in line[at:end] if c not in _WHITE), None)
        if odd is not None:
            shown = odd if odd <= "\uffff" else "?"  # Java sees the half of a pair
            raise Unreadable(f"no delimited text: {shown} stands behind a quoted field")
        return '"'.join(pieces), end

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        if values is None or (self._bare and values[0] is None):
            return None
        fields = zip(values, self._types, strict=True)
        line = self._between.join(self._field(v, t, first=i == 0) for i, (v, t) in enumerate(fields))
        return line.encode()

    def _field(self, value: Any, type_: SqlType, *, first: bool) -> str:
        if value is None:
            return ""
        plain = _text(value, type_)
        if not plain:
            return '""' if first else ""
        if (_QUOTES_FIRST if first else _QUOTES_LATER).search(plain) or self._between in plain:
            return '"' + plain.replace('"', '""') + '"'
        return plain


def _text(value: Any, type_: SqlType) -> str:
    if type_ == STRING:
        return cleaned(value)
    if type_ == BYTES:
        return base64.b64encode(value).decode()
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ == DOUBLE:
        return double_text(value)
    return decimal_text(value) if isinstance(type_, DecimalType) else str(value)


def _value(field: str, type_: SqlType, column: int) -> Any:
    if not field:
        return None
    try:
        return _read(field, type_)
    except Misfit as e:
        said = f'field {column + 1}: cannot read "{brief(field)}" as {type_}'
        raise Unreadable(f"{said}, {e}" if str(e) else said) from None


def _read(field: str, type_: SqlType) -> Any:
    if type_ == STRING:
        return field
    if type_ == BYTES:
        if not _BASE64.fullmatch(field):
            raise Misfit("not base64")
        return base64.b64decode(field.rstrip("=") + "=" * (-len(field.rstrip("=")) % 4))
    if type_ == BOOLEAN:
        return field.lower() == "true"
    if type_ == DOUBLE:
        return double_of(field)
    if isinstance(type_, DecimalType):
        if units(field) > LONGEST_NUMBER:
            raise Misfit("too long for a number")
        return decimal_of(big_decimal(field), type_)
    number = whole_of(field, 32 if type_ == INTEGER else 64)
    if type_ == DATE and not -(2**31) <= number < 2**31:
        raise Misfit("out of range")
    if type_ == TIME and not 0 <= number <= _DAY:
        raise Misfit("not a number of milliseconds within a day")
    return millis(number) if type_ == TIMESTAMP else number
