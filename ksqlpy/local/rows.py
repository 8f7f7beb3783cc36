"""Rows of a source as Python values, and as JSON in two forms: for the readers of records, and for people."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from ksqlpy.catalog import Source
from ksqlpy.formats.java import decimal_of
from ksqlpy.types import DOUBLE, ArrayType, DecimalType, MapType, SqlType, StructType

__all__ = ["ROWTIME", "Row", "codec_value", "json_text", "millis", "plain_json", "shown_json"]

ROWTIME = "ROWTIME"
"""The name under which rows of files carry the time of their record, as INSERT VALUES does."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    """A row: its columns by name (what is left out is NULL), and the time of its record in ms; None: when written.

    Values: bool, int, float, str, bytes; Decimal, date, time, datetime (in UTC); list, and dict for MAP and STRUCT.
    """

    columns: Mapping[str, Any]
    time: int | None = None


def plain_json(row: Row, source: Source, number: int) -> str:
    """The row as the JSON that ksqlpy's own reader takes: days, milliseconds and base64 (ksqlDB, format JSON).

    ``__time`` and ``__number`` stand beside the columns; ``number`` counts the rows.
    """
    columns = {c.name: row.columns.get(c.name) for c in source.written}
    return json_text({**columns, "__time": row.time, "__number": number}, people=False)


def codec_value(value: Any, type_: SqlType) -> Any:
    """A value of a row as the codecs of formats have it (:class:`ksqlpy.formats.Codec`)."""
    match type_, value:
        case _, None:
            return None
        case ArrayType(item), _:
            return [codec_value(v, item) for v in value]
        case MapType(_, item), _:
            return {str(k): codec_value(v, item) for k, v in value.items()}
        case StructType(fields), _:
            return {n: codec_value(value.get(n), t) for n, t in fields}
        case DecimalType(), _:
            return decimal_of(value, type_)
        case _, datetime():
            return millis(value)
        case _, date():
            return (value - _EPOCH.date()).days
        case _, time():
            return _millis_of_day(value)
    return float(value) if type_ == DOUBLE else value


def _millis_of_day(clock: time) -> int:
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1000 + clock.microsecond // 1000


def shown_json(row: Row, source: Source) -> str:
    """The row as JSON for people and files: days and times as ISO 8601; :data:`ROWTIME` last if there is one."""
    columns = {c.name: row.columns.get(c.name) for c in source.written}
    return json_text(columns if row.time is None else {**columns, ROWTIME: row.time}, people=True)


def json_text(value: Any, *, people: bool) -> str:
    """A value as JSON, with all digits; ``people``: days and times as ISO 8601, not as numbers."""
    match value:
        case Decimal():
            return format(value, "f")
        case float():
            if value == 0 and not people:
                return json.dumps(str(value))  # the reader takes the number -0.0 for 0.0
            return json.dumps(value if value - value == 0 else _odd(value))
        case bytes():
            return json.dumps(base64.b64encode(value).decode())
        case datetime():
            return json.dumps(_iso(value)) if people else str(millis(value))
        case date():
            return json.dumps(value.isoformat()) if people else str((value - _EPOCH.date()).days)
        case time():
            return json.dumps(value.isoformat("milliseconds")) if people else str(_millis_of_day(value))
        case dict():
            fields = (
                f"{json.dumps(str(k), ensure_ascii=False)}: {json_text(v, people=people)}" for k, v in value.items()
            )
            return f"{{{', '.join(fields)}}}"
        case list():
            return f"[{', '.join(json_text(v, people=people) for v in value)}]"
    return json.dumps(value, ensure_ascii=False)


def _odd(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def millis(moment: datetime) -> int:
    """A moment as milliseconds since 1970."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat("T", "milliseconds") + "Z"
