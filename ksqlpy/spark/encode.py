"""Rows that come as JSON become records of a source, by the same readers and writers as those of a query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ksqlpy.catalog import Column, Source, ValueSpec
from ksqlpy.errors import EngineProblem
from ksqlpy.formats import JSON, Written, read, text, write
from ksqlpy.types import BIGINT

__all__ = ["encode", "encoded"]

_PLACE = (Column("__time", BIGINT), Column("__number", BIGINT))


def encoded(lines: DataFrame, source: Source) -> DataFrame:
    """Records of JSON rows, one in each ``value``: columns ``key``, ``value``, ``offset``, ``time`` (in ms, or null).

    A row has the columns of the source, and ``__time`` and ``__number``, its offset; ``error`` says what is wrong.
    """
    part = ValueSpec(JSON.name, (*source.written, *_PLACE))
    rows = lines.selectExpr(f"{read(part, 'cast(value as binary)')} AS r")
    fields = [text.field("r.row", i) for i in range(len(part.columns))]
    made = {c.name: Written(c.name, c.type, at) for c, at in zip(source.written, fields, strict=False)}
    time, number = fields[-2:]
    key = write(source.key, [made[c.name] for c in source.keys])
    value = write(source.value, [made[c.name] for c in source.values])
    return rows.selectExpr(
        f"{key} AS key", f"{value} AS value", f"{number} AS offset", f"{time} AS time", "r.error AS error"
    )


def encode(
    session: SparkSession, lines: Sequence[str], source: Source, folder: Path
) -> list[tuple[bytes | None, bytes | None, int | None]]:
    """Key, value and time in ms (None: now) of the records of JSON rows, in their order.

    ``folder``: for a file of them. Raises EngineProblem ``not-encoded`` for a row that does not fit the source.
    """
    file = folder / "rows.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    found = encoded(session.read.text(str(file), lineSep="\n"), source).collect()
    for row in found:
        if row.error is not None:
            raise EngineProblem("not-encoded", f"a row of {source.name} cannot be written: {row.error}")
    return [
        (None if r.key is None else bytes(r.key), None if r.value is None else bytes(r.value), r.time)
        for r in sorted(found, key=lambda r: int(r.offset))
    ]
