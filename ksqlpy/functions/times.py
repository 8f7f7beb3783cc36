"""Functions of dates and times.

Source of the semantics: ksqlDB's date and time functions. TIMESTAMPs are whole milliseconds, days are those of UTC.
Texts are written and read by Java's own DateTimeFormatter, so every pattern means what it means there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.signatures import ArgTypes, Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import bound, exact, quoted, text_constant
from ksqlpy.types import BIGINT, DATE, INTEGER, STRING, TIME, TIMESTAMP, UNIT

__all__ = ["LATEST", "TIMES", "time_of_text"]

LATEST = 9_000_000_000_000_000
"""The latest event time in ms: Spark's microseconds end in the year 294247, and windows end behind it."""
_DAY = 86_400_000
_UNITS = {"MILLISECOND": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": _DAY}
_LAST_MILLIS = (2**63 - 1) // 1000
"""Spark counts microseconds in 64 bits."""
_NOW = "cast(java_method('java.lang.System', 'currentTimeMillis') as bigint)"
"""Spark's own current_timestamp() stands still for a batch, which in real-time mode is a minute."""


def _from_unix_time(a: Sequence[str], t: ArgTypes) -> str:
    return bound(
        a[0], lambda x: f"case when {x} between -{_LAST_MILLIS} and {_LAST_MILLIS} then timestamp_millis({x}) end"
    )


def time_of_text(value: str, pattern: str) -> str:
    """Spark text of the milliseconds since 1970 that a text says in a Java pattern, in UTC unless it says a zone."""
    return f"unix_millis({exact('parse_timestamp', objects=[value, quoted(pattern), quoted('GMT')])})"


def _parsed(function: str, *more: str) -> SparkText:
    return lambda a, t: exact(function, objects=[*a, *more])


def _by_texts(function: str, *more: str) -> SparkText:
    return lambda a, t: exact(function, a[0], objects=[*a[1:], *more])


def _millis(a: Sequence[str], sign: str) -> str:
    """The milliseconds that are added: the unit is a constant, the number is an INTEGER."""
    unit = text_constant(a[0])
    assert unit is not None
    return f"{sign} cast({a[1]} as bigint) * {_UNITS[unit]}L"


def _date_moved(sign: str) -> SparkText:
    def text(a: Sequence[str], t: ArgTypes) -> str:
        moved = f"(unix_date({a[2]}) * {_DAY}L {_millis(a, sign)})"
        return f"date_from_unix_date(cast({moved} div {_DAY}L as int))"

    return text


def _time_moved(sign: str) -> SparkText:
    return lambda a, t: f"cast(pmod({a[2]} {_millis(a, sign)}, {_DAY}L) as int)"


def _timestamp_moved(sign: str) -> SparkText:
    return lambda a, t: f"timestamp_micros(unix_micros({a[2]}) {_millis(a, sign)} * 1000L)"


def _time(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "DATE / TIME", help, example, signatures)


_PATTERN = "patterns are those of Java's DateTimeFormatter"
_MOVES = ("unit", "number", "value")
_TEXT, _TEXT_ZONE = ("text", "pattern"), ("text", "pattern", "zone")


def _moves(kind: str, example: str, help: str, type_: Signature, other: Signature) -> tuple[Scalar, Scalar]:
    adds, takes = (f"{kind}ADD", f"{kind}SUB")
    return (
        _time(adds, f"The value moved on by so many units; {help}.", f"{adds}({example})", type_),
        _time(takes, f"The value moved back by so many units; {help}.", f"{takes}({example})", other),
    )


TIMES = (
    _time(
        "CONVERT_TZ",
        "A TIMESTAMP that was meant in the first zone, as that of the second shows the same moment.",
        "CONVERT_TZ(SEEN, 'UTC', 'Europe/Oslo')",
        Signature(
            (TIMESTAMP, STRING, STRING), TIMESTAMP, _by_texts("convert_tz"), names=("value", "from", "to"), fails=True
        ),
    ),
    *_moves(
        "DATE",
        "DAYS, 7, DUE",
        "what is less than a day is lost",
        Signature((UNIT, INTEGER, DATE), DATE, _date_moved("+"), names=_MOVES),
        Signature((UNIT, INTEGER, DATE), DATE, _date_moved("-"), names=_MOVES),
    ),
    *_moves(
        "TIME",
        "MINUTES, 90, OPENS",
        "after midnight it starts over",
        Signature((UNIT, INTEGER, TIME), TIME, _time_moved("+"), names=_MOVES),
        Signature((UNIT, INTEGER, TIME), TIME, _time_moved("-"), names=_MOVES),
    ),
    *_moves(
        "TIMESTAMP",
        "HOURS, 2, SEEN",
        "a day has 24 hours",
        Signature((UNIT, INTEGER, TIMESTAMP), TIMESTAMP, _timestamp_moved("+"), names=_MOVES),
        Signature((UNIT, INTEGER, TIMESTAMP), TIMESTAMP, _timestamp_moved("-"), names=_MOVES),
    ),
    _time(
        "DATETOSTRING",
        f"Days since 1970-01-01 as text, the old form of FORMAT_DATE; {_PATTERN}.",
        "DATETOSTRING(DAYS_SINCE, 'yyyy-MM-dd')",
        Signature(
            (INTEGER, STRING),
            STRING,
            lambda a, t: exact("format_date", f"date_from_unix_date({a[0]})", objects=a[1:]),
            names=("days", "pattern"),
            fails=True,
        ),
    ),
    _time(
        "FORMAT_DATE",
        f"A DATE as text; {_PATTERN}.",
        "FORMAT_DATE(BIRTHDAY, 'dd.MM.yyyy')",
        Signature((DATE, STRING), STRING, _by_texts("format_date"), names=("date", "pattern"), fails=True),
    ),
    _time(
        "FORMAT_TIME",
        f"A TIME as text; {_PATTERN}.",
        "FORMAT_TIME(OPENS, 'HH:mm')",
        Signature((TIME, STRING), STRING, _by_texts("format_time"), names=("time", "pattern"), fails=True),
    ),
    _time(
        "FORMAT_TIMESTAMP",
        f"A TIMESTAMP as text, in GMT or in the zone given; {_PATTERN}.",
        "FORMAT_TIMESTAMP(SEEN, 'yyyy-MM-dd HH:mm:ss.SSS', 'Europe/Oslo')",
        Signature(
            (TIMESTAMP, STRING),
            STRING,
            _by_texts("format_timestamp", "'GMT'"),
            names=("timestamp", "pattern"),
            fails=True,
        ),
        Signature(
            (TIMESTAMP, STRING, STRING),
            STRING,
            _by_texts("format_timestamp"),
            names=("timestamp", "pattern", "zone"),
            fails=True,
        ),
    ),
    _time(
        "FROM_DAYS",
        "The DATE so many days after 1970-01-01.",
        "FROM_DAYS(DAYS_SINCE)",
        Signature((INTEGER,), DATE, lambda a, t: f"date_from_unix_date({a[0]})", names=("days",)),
    ),
    _time(
        "FROM_UNIXTIME",
        "The TIMESTAMP so many milliseconds after 1970 began; null beyond some 292,000 years.",
        "FROM_UNIXTIME(MILLIS)",
        Signature((BIGINT,), TIMESTAMP, _from_unix_time, names=("millis",), fails=True),
    ),
    _time(
        "PARSE_DATE",
        f"The DATE that a text begins with, in this pattern; null with a time that is not midnight; {_PATTERN}.",
        "PARSE_DATE(BIRTHDAY, 'dd.MM.yyyy')",
        Signature((STRING, STRING), DATE, _parsed("parse_date"), names=_TEXT, fails=True),
    ),
    _time(
        "PARSE_TIME",
        f"The TIME that a text in this pattern says, null with parts of a date; {_PATTERN}.",
        "PARSE_TIME(OPENS, 'HH:mm')",
        Signature((STRING, STRING), TIME, _parsed("parse_time"), names=_TEXT, fails=True),
    ),
    _time(
        "PARSE_TIMESTAMP",
        f"The TIMESTAMP that a text says in this pattern, in GMT or the zone given, unless it says one; {_PATTERN}.",
        "PARSE_TIMESTAMP(SEEN, 'yyyy-MM-dd''T''HH:mm:ssX')",
        Signature((STRING, STRING), TIMESTAMP, _parsed("parse_timestamp", "'GMT'"), names=_TEXT, fails=True),
        Signature((STRING, STRING, STRING), TIMESTAMP, _parsed("parse_timestamp"), names=_TEXT_ZONE, fails=True),
    ),
    _time(
        "STRINGTODATE",
        f"The days since 1970-01-01 that a text says in this pattern, the old form of PARSE_DATE; {_PATTERN}.",
        "STRINGTODATE(BIRTHDAY, 'yyyy-MM-dd')",
        Signature((STRING, STRING), INTEGER, _parsed("parse_days"), names=_TEXT, fails=True),
    ),
    _time(
        "STRINGTOTIMESTAMP",
        "The milliseconds since 1970 that a text says in this pattern, the old form of PARSE_TIMESTAMP; "
        "without a zone it is the server's.",
        "STRINGTOTIMESTAMP(SEEN, 'yyyy-MM-dd HH:mm:ss', 'UTC')",
        *(
            Signature(
                (STRING,) * count,
                BIGINT,
                lambda a, t: f"unix_millis({exact('parse_timestamp', objects=a)})",
                names=_TEXT_ZONE[:count],
                fails=True,
            )
            for count in (2, 3)
        ),
    ),
    _time(
        "TIMESTAMPTOSTRING",
        "Milliseconds since 1970 as text, the old form of FORMAT_TIMESTAMP; without a zone it is the server's.",
        "TIMESTAMPTOSTRING(ROWTIME, 'yyyy-MM-dd HH:mm:ss', 'UTC')",
        *(
            Signature(
                (BIGINT, *(STRING,) * count),
                STRING,
                lambda a, t: exact("format_timestamp", _from_unix_time(a, t), objects=a[1:]),
                names=("millis", "pattern", "zone")[: count + 1],
                fails=True,
            )
            for count in (1, 2)
        ),
    ),
    _time(
        "UNIX_DATE",
        "The days since 1970-01-01 of a DATE; without an argument, of today in UTC.",
        "UNIX_DATE(BIRTHDAY)",
        Signature((), INTEGER, lambda a, t: f"cast({_NOW} div {_DAY}L as int)"),
        Signature((DATE,), INTEGER, lambda a, t: f"unix_date({a[0]})", names=("date",)),
    ),
    _time(
        "UNIX_TIMESTAMP",
        "The milliseconds since 1970 of a TIMESTAMP; without an argument, of now, by the clock of the row's machine.",
        "UNIX_TIMESTAMP()",
        Signature((), BIGINT, lambda a, t: _NOW),
        Signature((TIMESTAMP,), BIGINT, lambda a, t: f"unix_millis({a[0]})", names=("timestamp",)),
    ),
)
