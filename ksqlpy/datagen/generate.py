"""Invented rows of a source: keys from a limited set, event times that increase, values by type and name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from ksqlpy.catalog import Source
from ksqlpy.datagen.times import time_text
from ksqlpy.datagen.values import Moment, key_value, value_of
from ksqlpy.local.rows import Row, millis
from ksqlpy.types import BIGINT, STRING

__all__ = ["Generator", "GeneratorSettings"]

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
"""Where event time begins with a seed and without a start: the same seed gives the same rows."""


@dataclass(frozen=True)
class GeneratorSettings:
    """What is wanted of the rows.

    ``keys``: how many different keys there are; ``nulls``: how often a value is NULL, from 0 to 1; ``step_ms``: event
    time between two rows; ``seed``: equal seeds give equal rows; ``start``: the first event time, by default now, or
    with a seed the beginning of 2026.
    """

    keys: int = 100
    nulls: float = 0.0
    step_ms: float = 1000.0
    seed: int | None = None
    start: datetime | None = None


class Generator:
    """Makes rows of a source without end.

    Keys and the column that gives ROWTIME are never NULL. The record's own time is the event time too. Raises
    ConfigProblem ``time-pattern`` where the source wants ROWTIME as text that cannot be written here.
    """

    def __init__(self, source: Source, settings: GeneratorSettings) -> None:
        self.source = source
        self._settings = settings
        self._random = Random(settings.seed)
        now = datetime.now(UTC).replace(microsecond=0)
        self._start = settings.start or (FIRST if settings.seed is not None else now)
        time_text(self._start, self._pattern)

    @property
    def _pattern(self) -> str:
        return self.source.timestamp_format or ""

    def rows(self) -> Iterator[Row]:
        """The rows, from the first event time on."""
        number = 0
        while True:
            # Of the number, so that rounding does not add up.
            offset = timedelta(milliseconds=int(number * self._settings.step_ms))
            yield self._row(self._start + offset)
            number += 1

    def _row(self, time: datetime) -> Row:
        random, settings = self._random, self._settings
        moment = Moment(time, settings.keys)
        key = random.randint(1, settings.keys)
        columns: dict[str, Any] = {}
        for column in self.source.written:
            if column.name == self.source.timestamp:
                columns[column.name] = self._time(column.type, time)
            elif column.key:
                columns[column.name] = key_value(column.name, column.type, key)
            else:
                value = value_of(column.name, column.type, random, moment)
                columns[column.name] = None if settings.nulls and random.random() < settings.nulls else value
        return Row(columns, millis(time))

    def _time(self, type_: object, time: datetime) -> Any:
        if type_ == STRING:
            return time_text(time, self._pattern)
        return millis(time) if type_ == BIGINT else time
