"""Event time out of a column (WITH TIMESTAMP), and why there is none, as Spark text (ksqlDB, TIMESTAMP property)."""

from __future__ import annotations

from ksqlpy.catalog import Source
from ksqlpy.formats import text
from ksqlpy.functions.times import LATEST, time_of_text
from ksqlpy.types import STRING, TIMESTAMP

__all__ = ["no_time", "out_of_range", "time_of"]

SHOWN = 40
"""Characters of a text that a reason shows."""


def time_of(source: Source, value: str) -> str:
    """The milliseconds since 1970 that a value of the source's TIMESTAMP column says; null if it says none."""
    column = source.column(source.timestamp or "")
    assert column is not None
    if column.type == STRING:
        return time_of_text(value, source.timestamp_format or "")
    return f"unix_millis({value})" if column.type == TIMESTAMP else value


def no_time(source: Source, value: str, time: str) -> str:
    """Why a value of the source's TIMESTAMP column gives no event time; null if it gives one.

    ``time``: what :func:`time_of` says of it.
    """
    column = source.column(source.timestamp or "")
    assert column is not None
    reasons = [f"WHEN {value} IS NULL THEN {text.string(f'column {column.name}: event time is null')}"]
    if column.type == STRING:
        shown = f"if(length({value}) > {SHOWN}, concat(left({value}, {SHOWN}), '…'), {value})"
        begin = text.string(f'column {column.name}: cannot read "')
        end = text.string(f'" as event time of the format {source.timestamp_format}')
        reasons.append(f"WHEN {time} IS NULL THEN concat({begin}, {shown}, {end})")
    reasons.append(f"ELSE concat({text.string(f'column {column.name}: ')}, {out_of_range(time)})")
    return f"CASE {' '.join(reasons)} END"


def out_of_range(time: str) -> str:
    """The reason why no broker or no window takes a time; null for one that they take."""
    begins = f"WHEN {time} < 0 THEN 'before 1970' WHEN {time} > {LATEST} THEN 'too late for milliseconds'"
    return f"concat('event time is ', CASE {begins} END, ' (', {time}, ')')"
