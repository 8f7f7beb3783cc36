"""Numbers and texts as Java reads and writes them: what the readers in the JVM and Spark's casts do, in Python."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from math import inf, isinf, isnan

from ksqlpy.types import ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = [
    "LONGEST_NUMBER",
    "Misfit",
    "big_decimal",
    "brief",
    "civil_date",
    "cleaned",
    "decimal_of",
    "decimal_text",
    "double_of",
    "double_text",
    "epoch_day",
    "java_text",
    "millis",
    "type_text",
    "units",
    "whole_of",
    "wrapped",
]

LONGEST_NUMBER = 1000
"""Characters that a number may have; longer ones cost too much."""

_LONGEST_SHOWN = 60
_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_SPACE = r"[\x00-\x20]*"
_DOUBLE = re.compile(
    rf"{_SPACE}([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[fFdD]?{_SPACE}\Z)"
    rf"|(0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)(?=[fFdD]?{_SPACE}\Z)))[fFdD]?{_SPACE}"
)
_WORDS = re.compile(r"NaN|Infinity")
_HALF_PAIR = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class Misfit(ValueError):
    """A number that does not fit its type; the message says why, and is empty for what is no number."""


def java_text(data: bytes) -> str:
    """``new String(data, UTF_8)``: what is not in UTF-8 becomes replacement characters, half a pair only one."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _HALF_PAIR.sub(b"\xef\xbf\xbd", data).decode(errors="replace")


def units(text: str) -> int:
    """How long the text is for Java, which counts UTF-16 units."""
    return len(text) + sum(c > "\uffff" for c in text)


def cleaned(text: str) -> str:
    """The text as UTF-8 can have it: halves of surrogate pairs are joined, one without the other is a question mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "replace").decode()
    return text


def brief(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """The text as one line, short enough to stand in a message (``Unreadable.java``)."""
    end, room = 0, longest
    for c in text:
        room -= units(c)
        if room < 0:
            break
        end += 1
    return _CONTROL.sub(" ", text[:end]) + ("…" if end < len(text) else "")


def whole_of(text: str, bits: int) -> int:
    """``Integer.parseInt`` and ``Long.parseLong``: digits of any script, no spaces; raises Misfit."""
    if not _WHOLE.fullmatch(text) or len(text) != units(text):
        raise Misfit
    digits = text.lstrip("+-0") or "0"
    number = int(text) if len(digits) <= 40 else 2**64
    if not _fits(number, bits):
        raise Misfit
    return number


def wrapped(number: int, bits: int) -> int:
    """The number in this many bits, the higher ones cut off."""
    half: int = 1 << bits - 1
    return (number + half) % (2 * half) - half


def _fits(number: int, bits: int) -> bool:
    return wrapped(number, bits) == number


def millis(number: int) -> int:
    """A time in milliseconds that fits in 64 bits as microseconds too; raises Misfit."""
    if not _fits(number * 1000, 64):
        raise Misfit("out of range")
    return number


def double_of(text: str) -> float:
    """``Double.parseDouble``: spaces around it, words, a suffix and hexadecimal digits are taken; raises Misfit."""
    match = _DOUBLE.fullmatch(text)
    if match is None:
        raise Misfit
    number = match[1]
    if match[2] is None:
        return float(number)
    try:
        return float.fromhex(number)
    except OverflowError:
        return -inf if number.startswith("-") else inf


def big_decimal(text: str) -> Decimal:
    """``new BigDecimal(text)``, with all digits and no limit but those of its exponent; raises Misfit."""
    match = _DECIMAL.fullmatch(text)
    if match is None or len(text) != units(text):
        raise Misfit
    exponent = match[1] or "0"
    if len(exponent.lstrip("+-").lstrip("0")) > 10:
        raise Misfit
    number = Decimal(text)
    if not -(2**31) <= -_exponent(number) < 2**31:
        raise Misfit
    return number if number else number.copy_abs()


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def decimal_of(number: Decimal, type_: DecimalType) -> Decimal:
    """The number with the digits of the type after its point; raises Misfit where it has more than the type."""
    if not number:
        return Decimal((0, (0,), -type_.scale))
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    kept = len(digits)
    while digits[kept - 1] == 0:
        kept -= 1
    exponent += len(digits) - kept
    if number.adjusted() + 1 > type_.precision - type_.scale:
        raise Misfit("too many digits")
    if -exponent > type_.scale:
        raise Misfit("too many digits after the point")
    zeros = exponent + type_.scale
    return Decimal((sign, digits[:kept] + (0,) * zeros, -type_.scale))


def decimal_text(number: Decimal) -> str:
    """All digits, no exponent; ``BigDecimal.toPlainString``, which knows no -0."""
    return format(number if number else number.copy_abs(), "f")


def double_text(number: float) -> str:
    """``Double.toString`` as of Java 19: the fewest digits that give the number, an exponent for large and small ones.

    Earlier versions of Java write more digits than needed for some numbers.
    """
    if 1e-3 <= abs(number) < 1e7:
        return repr(number)  # which has the fewest digits, too, and no exponent here
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    if not any(digits):
        return "-0.0" if sign else "0.0"
    if len(str(int("".join(map(str, digits)))).rstrip("0")) == 1:
        # Java wants two digits, and takes the nearest such number: 4.9E-324, not 5E-324.
        sign, digits, exponent = Decimal(f"{number:.1e}").as_tuple()
        assert isinstance(exponent, int)
    shown = "".join(map(str, digits)).lstrip("0")
    power = exponent + len(shown) - 1
    shown = shown.rstrip("0") or "0"
    minus = "-" if sign else ""
    return f"{minus}{shown[0]}.{shown[1:] or '0'}E{power}"


def type_text(type_: SqlType) -> str:
    """A type as the readers in the JVM call it (``Type.java``)."""
    match type_:
        case ArrayType(item):
            return f"ARRAY<{type_text(item)}>"
        case MapType(_, item):
            return f"MAP<STRING, {type_text(item)}>"
        case StructType():
            return "STRUCT"
    return str(type_)


_CYCLE = 146_097  # days of 400 years
_START = date(2000, 1, 1).toordinal()
_MOST_YEARS = 999_999_999


def civil_date(day: int) -> tuple[int, int, int]:
    """Year, month and day of the month of a day since 1970, as ``LocalDate.ofEpochDay`` has them."""
    cycles, rest = divmod(day - _SINCE_1970, _CYCLE)
    found = date.fromordinal(_START + rest)
    return found.year + 400 * cycles, found.month, found.day


def epoch_day(year: int, month: int, day: int) -> int:
    """The inverse, ``LocalDate.of(…).toEpochDay()``; raises Misfit for no date, and for one beyond 32 bits."""
    cycles, rest = divmod(year - 2000, 400)
    try:
        found = date(2000 + rest, month, day).toordinal() - _START + _SINCE_1970 + cycles * _CYCLE
    except (ValueError, OverflowError):
        raise Misfit from None
    if abs(year) > _MOST_YEARS or not _fits(found, 32):
        raise Misfit
    return found


_SINCE_1970 = _START - date(1970, 1, 1).toordinal()
