"""Functions of dates and times.

Source of the semantics: ksqlDB's date and time functions. TIMESTAMPs are whole milliseconds, days are those of UTC.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.patterns import (
    FORMAT_DATE,
    FORMAT_TIMESTAMP,
    PARSE_DATE,
    PARSE_TIMESTAMP,
    Patterns,
    packed_fraction,
)
from ksqlpy.functions.registry import ArgTypes, Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import bound, quoted, text_constant
from ksqlpy.types import BIGINT, DATE, INTEGER, STRING, TIMESTAMP

__all__ = ["TIMES", "time_of_text"]

_LAST_MILLIS = (2**63 - 1) // 1000
"""Spark counts microseconds in 64 bits."""


def _from_unix_time(a: Sequence[str], t: ArgTypes) -> str:
    return bound(
        a[0], lambda x: f"case when {x} between -{_LAST_MILLIS} and {_LAST_MILLIS} then timestamp_millis({x}) end"
    )


def _format(patterns: Patterns) -> SparkText:
    def text(a: Sequence[str], t: ArgTypes) -> str:
        constant = text_constant(a[1])
        if constant is None:
            return f"case when {patterns.condition(a[1])} then date_format({a[0]}, {a[1]}) end"
        pattern = patterns.spark(constant)
        return "cast(null as string)" if pattern is None else f"date_format({a[0]}, {quoted(pattern)})"

    return text


def _parsed(a: Sequence[str], patterns: Patterns) -> str:
    value, pattern = a
    constant = text_constant(pattern)
    if constant is None:
        return f"case when {patterns.condition(pattern)} then try_to_timestamp({value}, {pattern}) end"
    known = patterns.spark(constant)
    if known is None:
        return "cast(null as timestamp)"
    place = packed_fraction(known)
    if place is not None:
        value = f"overlay({value} placing '.' from {place + 1} for 0)"
        known = f"{known[:place]}.{known[place:]}"
    return f"try_to_timestamp({value}, {quoted(known)})"


def _parse_timestamp(a: Sequence[str], t: ArgTypes) -> str:
    return f"date_trunc('MILLISECOND', {_parsed(a, PARSE_TIMESTAMP)})"


def time_of_text(value: str, pattern: str) -> str | None:
    """Spark text of the milliseconds since 1970 that a text says in a Java pattern; None for an invalid pattern.

    Raises AnalysisProblem ``unsupported-pattern`` for one that Spark cannot read.
    """
    if PARSE_TIMESTAMP.spark(pattern) is None:
        return None
    return f"unix_millis({_parse_timestamp([value, quoted(pattern)], (STRING, STRING))})"


def _parse_date(a: Sequence[str], t: ArgTypes) -> str:
    return bound(_parsed(a, PARSE_DATE), lambda x: f"case when date_trunc('DAY', {x}) = {x} then cast({x} as date) end")


def _time(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "DATE / TIME", help, example, signatures)


_PATTERN = "patterns are Java's, without week fields, narrow forms and A B n N p"
_STRICT = f"{_PATTERN}, E F Q; a day that its month does not have gives null"

TIMES = (
    _time(
        "UNIX_TIMESTAMP",
        "The milliseconds since 1970 of a TIMESTAMP; without an argument, of now, by the clock of the row's machine.",
        "UNIX_TIMESTAMP()",
        # Spark's own current_timestamp() stands still for a batch, which in real-time mode is a minute.
        Signature((), BIGINT, lambda a, t: "cast(java_method('java.lang.System', 'currentTimeMillis') as bigint)"),
        Signature((TIMESTAMP,), BIGINT, lambda a, t: f"unix_millis({a[0]})"),
    ),
    _time(
        "FROM_UNIXTIME",
        "The TIMESTAMP so many milliseconds after 1970 began; null beyond some 292,000 years.",
        "FROM_UNIXTIME(MILLIS)",
        Signature((BIGINT,), TIMESTAMP, _from_unix_time),
    ),
    _time(
        "UNIX_DATE",
        "The days since 1970-01-01 of a DATE; without an argument, of today in UTC.",
        "UNIX_DATE(BIRTHDAY)",
        Signature((), INTEGER, lambda a, t: "unix_date(current_date())"),
        Signature((DATE,), INTEGER, lambda a, t: f"unix_date({a[0]})"),
    ),
    _time(
        "FORMAT_TIMESTAMP",
        f"A TIMESTAMP as text, in UTC; {_PATTERN}.",
        "FORMAT_TIMESTAMP(SEEN, 'yyyy-MM-dd HH:mm:ss.SSS')",
        Signature((TIMESTAMP, STRING), STRING, _format(FORMAT_TIMESTAMP)),
    ),
    _time(
        "FORMAT_DATE",
        f"A DATE as text; {_PATTERN}.",
        "FORMAT_DATE(BIRTHDAY, 'dd.MM.yyyy')",
        Signature((DATE, STRING), STRING, _format(FORMAT_DATE)),
    ),
    _time(
        "PARSE_TIMESTAMP",
        f"The TIMESTAMP that a text in this pattern says, in UTC unless it names a zone; {_STRICT}.",
        "PARSE_TIMESTAMP(SEEN, 'yyyy-MM-dd''T''HH:mm:ssX')",
        Signature((STRING, STRING), TIMESTAMP, _parse_timestamp),
    ),
    _time(
        "PARSE_DATE",
        f"The DATE that a text in this pattern says, null with a time that is not midnight; {_STRICT}.",
        "PARSE_DATE(BIRTHDAY, 'dd.MM.yyyy')",
        Signature((STRING, STRING), DATE, _parse_date),
    ),
)
