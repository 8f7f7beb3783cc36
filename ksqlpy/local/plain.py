"""A plain question over the rows of a file, answered without Spark: columns of one source, and plain conditions.

Each row becomes the record that Spark would read, by the same codecs, and :mod:`ksqlpy.reading` makes the row of the
result of it, as it does for plain push queries.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ksqlpy.catalog import Source
from ksqlpy.formats import FORMATS, Unreadable, codec
from ksqlpy.formats.contract import DECLARED
from ksqlpy.local.answer import Answer, Enough, Giving, Row
from ksqlpy.local.inputs import input_rows
from ksqlpy.local.question import Question, Wanted
from ksqlpy.local.rows import codec_value
from ksqlpy.reading import Change, Gone, Record, Unread
from ksqlpy.reading.push import Plain, plain_of

__all__ = ["plain_way"]


def plain_way(question: Question, files: Mapping[str, Path], wanted: Wanted) -> Callable[[Row], Answer] | None:
    """What answers the question without Spark; None where Spark has to.

    ``files``: of :func:`~ksqlpy.local.question.files_of`. Raises what is wrong with the first row.
    """
    how = _plain(question)
    if how is None or wanted.follow or question.sources[0].name not in files:
        return None
    source = question.sources[0]
    records = _records(question, source, files[source.name], wanted)
    first = next(records, None)
    found = records if first is None else chain([first], records)
    return lambda row: _answered(question, how, found, wanted, row)


def _plain(question: Question) -> Plain | None:
    """How its rows are made; None too where schemas of a registry say how records are written."""
    if any(s.envelope or {FORMATS[p.format].schemas for p in (s.key, s.value)} != {DECLARED} for s in question.sources):
        return None
    return plain_of(question.typed, timed=True)


def _records(question: Question, source: Source, file: Path, wanted: Wanted) -> Iterator[Record]:
    """The record of each row that is wanted; one without a time has come now, of a table before all others."""
    key, value = codec(source.key), codec(source.value)
    now = int(time.time() * 1000) if source.kind == "STREAM" else 0
    for number, row in enumerate(input_rows(question, source, file, wanted)):
        at = now if row.time is None else row.time
        if wanted.until is not None and at >= wanted.until:
            continue
        if wanted.since is not None and source.kind == "STREAM" and at < wanted.since:
            continue
        keys, values = (
            [codec_value(row.columns.get(c.name), c.type) for c in columns] for columns in (source.keys, source.values)
        )
        yield Record(key.encode(keys), value.encode(values), at, 0, number)


def _answered(question: Question, how: Plain, records: Iterator[Record], wanted: Wanted, row: Row) -> Answer:
    giving = Giving[list[Any]](question, wanted, row, lambda columns: columns)
    deadline = math.inf if wanted.timeout is None else time.monotonic() + wanted.timeout
    told = giving.final or giving.limit is None
    topic = question.sources[0].topic
    try:
        for record in records if giving.limit != 0 else ():
            if time.monotonic() > deadline:
                giving.answer.complete = False
                break
            try:
                made = how.row(record)
            except Unreadable as e:
                if told:
                    giving.take(Unread(topic, record.partition, record.offset, str(e)))
                continue
            if made is not None:
                giving.take(Change(record.key, None if isinstance(made, Gone) else made))
        giving.end()
    except Enough:
        pass
    return giving.answer
