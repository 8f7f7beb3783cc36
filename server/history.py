"""Figures of the last hour, in memory that does not grow: of each query and of the server, one value a sample."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["LENGTH", "MOST", "SECONDS", "History", "Ring"]

LENGTH = 3600
"""Samples that are kept."""

SECONDS = 3600.0
"""How old one may be that is told."""

MOST = 1000
"""Rings at most; a query for which there is none has no history."""

Value = float | int | None


class Ring:
    """The series of one thing, four bytes a value: NaN where nothing is known."""

    def __init__(self, names: Sequence[str]) -> None:
        self.series = {name: array("f", [math.nan]) * LENGTH for name in names}

    def put(self, slot: int, values: Mapping[str, Value]) -> None:
        """Writes the values of one sample."""
        for name, series in self.series.items():
            value = values.get(name)
            series[slot] = math.nan if value is None else value

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(series.itemsize * len(series) for series in self.series.values())


class History:
    """The rings by name, over the same times; ``now``: ms since 1970."""

    def __init__(self, names: Callable[[str], Sequence[str]], now: Callable[[], float]) -> None:
        """``names``: the series of a ring."""
        self._names, self._now = names, now
        self._times = array("d", [0.0]) * LENGTH
        self._count = 0
        self._rings: dict[str, Ring] = {}
        self._lock = threading.Lock()  # who reads must not see the oldest place while it becomes the youngest

    def put(self, at: float, told: Mapping[str, Mapping[str, Value]]) -> None:
        """Adds a sample; what is not in it is forgotten, since it is not there any more."""
        with self._lock:
            slot = self._count % LENGTH
            for name in self._rings.keys() - told.keys():
                del self._rings[name]
            for name, values in told.items():
                ring = self._rings.get(name)
                if ring is None and len(self._rings) < MOST:
                    ring = self._rings[name] = Ring(self._names(name))
                if ring is not None:
                    ring.put(slot, values)
            self._times[slot] = at
            self._count += 1

    def of(self, name: str) -> tuple[list[int], dict[str, list[Value]]]:
        """Times and series of a ring, empty if there is none."""
        with self._lock:
            ring = self._rings.get(name)
            if ring is None:
                return [], {series: [] for series in self._names(name)}
            since, count = self._now() - SECONDS * 1000, self._count
            slots = [n % LENGTH for n in range(max(0, count - LENGTH), count) if self._times[n % LENGTH] >= since]
            times = [int(self._times[slot]) for slot in slots]
            return times, {name: list(_told(series, slots)) for name, series in ring.series.items()}

    @property
    def size(self) -> int:
        """Bytes of all."""
        return len(self._times) * 8 + sum(ring.size for ring in self._rings.values())


def _told(series: array[float], slots: Iterable[int]) -> Iterable[Value]:
    """Numbers as people write them: those of four bytes have seven digits."""
    for slot in slots:
        value = series[slot]
        if math.isnan(value):
            yield None
        else:
            yield int(value) if value.is_integer() else float(f"{value:.6g}")
