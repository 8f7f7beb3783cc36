"""Rows that come as JSON become records of a source, by the same readers and writers as those of a query."""

from __future__ import annotations

from pyspark.sql import DataFrame

from ksqlpy.catalog import Column, Source, ValueSpec
from ksqlpy.formats import JSON, Written, read, text, write
from ksqlpy.types import BIGINT

__all__ = ["encoded"]


def encoded(lines: DataFrame, source: Source) -> DataFrame:
    """Records of JSON rows, one in each ``value``: columns ``key``, ``value``, ``offset``, ``time`` (in ms, or null).

    A row has the columns of the source, and ``__time`` and ``__number``, its offset; ``error`` says what is wrong.
    """
    part = ValueSpec(JSON.name, (*source.written, Column("__time", BIGINT), Column("__number", BIGINT)))
    rows = lines.selectExpr(f"{read(part, 'cast(value as binary)')} AS r")
    fields = [text.field("r.row", i) for i in range(len(part.columns))]
    made = {c.name: Written(c.name, c.type, at) for c, at in zip(source.written, fields, strict=False)}
    time, number = fields[-2:]
    key = write(source.key, [made[c.name] for c in source.keys])
    value = write(source.value, [made[c.name] for c in source.values])
    return rows.selectExpr(
        f"{key} AS key", f"{value} AS value", f"{number} AS offset", f"{time} AS time", "r.error AS error"
    )
