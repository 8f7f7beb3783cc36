"""What the demo shows while it runs: a picture that changes on a terminal, else a line now and then."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from ksqlpy.demo.expected import RESULTS, Record

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

__all__ = ["Query", "View", "result_text"]

INTERVAL = 1.0
"""Seconds between two lines where the output is no terminal."""


@dataclass(frozen=True)
class Query:
    """The figures of a query, as the server tells them; ``lag`` is None before the query knows it."""

    topic: str
    state: str
    rows_in: int
    rows_out: int
    lag: int | None


class View:
    """Shows where the demo is; a context manager. Its methods may be called from any thread.

    ``began``: when the process started, by ``time.monotonic()``. ``quiet``: nothing but what :meth:`say` is given.
    """

    def __init__(self, began: float, *, quiet: bool = False) -> None:
        from rich.console import Console

        self.console: Console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.quiet = quiet
        self._began = began
        self._lock = threading.Lock()
        self._phase = ""
        self._sent = (0, 0)
        self._queries: Sequence[Query] = ()
        self._latest: Mapping[str, str] = {}
        self._live: Live | None = None
        self._printed = 0.0
        self._line = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the process started."""
        return time.monotonic() - self._began

    def __enter__(self) -> Self:
        if self.console.is_terminal and not self.quiet:
            from rich.live import Live

            self._live = Live(get_renderable=self._picture, console=self.console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Takes the picture away; what was said stays."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def say(self, text: str = "") -> None:
        """Prints a line that stays."""
        self.console.print(text)

    def phase(self, text: str) -> None:
        """Shows what is being done; an empty text is ignored."""
        with self._lock:
            if not text or text == self._phase:
                return
            new = text.partition(":")[0] != self._phase.partition(":")[0]
            self._phase = text
        if new and self._live is None and not self.quiet:
            self._print(text)

    def sent(self, count: int, of: int) -> None:
        """Shows how many rides have been written."""
        self._sent = (count, of)
        self._tick()

    def figures(self, queries: Sequence[Query], latest: Mapping[str, str]) -> None:
        """Shows the figures of the queries, and the last result of each topic as a text."""
        self._queries, self._latest = queries, latest
        self._tick()

    def _tick(self) -> None:
        if self._live is None and not self.quiet and time.monotonic() - self._printed >= INTERVAL:
            out = ", ".join(f"{q.topic.removeprefix('taxi_')} {q.rows_out:,}" for q in self._queries)
            line = f"{self._sent[0]:,} of {self._sent[1]:,} rides written; rows out: {out or 'none yet'}"
            if line != self._line:
                self._line = line
                self._print(line)

    def _print(self, text: str) -> None:
        self._printed = time.monotonic()
        self.console.print(f"{self.elapsed:5.1f} s  {text}")

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table

        head = Table.grid(padding=(0, 1))
        head.add_row(self._spinner(Spinner), f"{self.elapsed:5.1f} s  {self._phase}")
        if not self._queries:
            return head
        bar = Table.grid(padding=(0, 1))
        bar.add_row("rides written", ProgressBar(self._sent[1] or 1, self._sent[0], width=40), f"{self._sent[0]:,}")
        table = Table(box=None, padding=(0, 2, 0, 0))
        for title, justify in (("topic", "left"), ("rows in", "right"), ("rows out", "right")):
            table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=True)
        table.add_column("behind", justify="right", no_wrap=True)
        table.add_column("latest result", no_wrap=True, overflow="ellipsis")
        for q in self._queries:
            behind = "" if q.lag is None else f"{q.lag:,}"
            latest = self._latest.get(q.topic, "") if q.state == "RUNNING" else q.state
            table.add_row(q.topic, f"{q.rows_in:,}", f"{q.rows_out:,}", behind, latest)
        return Group(head, bar, table)

    def _spinner(self, kind: type) -> RenderableType:
        if not hasattr(self, "_turning"):
            self._turning: RenderableType = kind("dots")
        return self._turning


def result_text(topic: str, record: Record, zones: Mapping[int, str]) -> str:
    """A result on one line; ``zones``: names by id."""
    value = record.value or {}
    match topic:
        case "taxi_boroughs":
            return f"{record.key.decode()}: {_rides(value['RIDES'])}, {value['REVENUE']:,} dollars"
        case "taxi_rides_per_vendor":
            return f"vendor {_int(record.key)}: {_rides(value['RIDES'])}"
        case "taxi_zone_hours":
            start = struct.unpack(">q", record.key[-8:])[0]
            zone = zones.get(_int(record.key[:-8]), "Unknown")
            hour = datetime.fromtimestamp(start / 1000, UTC)
            return f"{zone}, {hour:%b %d %H}h: {_rides(value['RIDES'])}, {value['REVENUE']} dollars"
        case "taxi_enriched_rides":
            return f"{value['PICKUP_TIME']}: {value['ZONE'] or 'unknown zone'} ({value['BOROUGH'] or '?'})"
    return f"{value['TPEP_PICKUP_DATETIME']}: {value['TOTAL_AMOUNT']} dollars" if topic in RESULTS else ""


def _rides(count: object) -> str:
    return f"{count:,} ride{'' if count == 1 else 's'}"


def _int(key: bytes) -> int:
    return int.from_bytes(key, "big", signed=True)
