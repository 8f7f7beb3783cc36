"""What the parts share: servers as processes, browsers, and processor time."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench.latency import quantile
from bench.server.rig import Rig
from ksqlpy.connection import KafkaConnection
from tests.harness.server import Server
from tests.web.chromium import QUIET, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["SIZE", "Bench", "Worked", "browser", "browser_last", "p95", "told", "visit"]

SIZE = {"width": 1280, "height": 800}
PATIENCE = 180_000
"""Ms for which the page is waited for; what is slow is a figure, no failure."""


@dataclass(frozen=True)
class Bench:
    """The broker, and how much is measured: see :func:`bench.page.page`."""

    bootstrap: str
    master: str
    rounds: int
    queries: int
    rate: int
    seconds: float

    @property
    def rig(self) -> Rig:
        """What starts queries, as for the measurements of the server."""
        return Rig(self.bootstrap, self.master, 0, 0, self.queries, 0)

    @contextmanager
    def serve(self, service: str) -> Iterator[Server]:
        """A started server, which has warmed up."""
        with tempfile.TemporaryDirectory(prefix="bench-page-") as folder:
            more = {
                "ksql.service.id": f"page_{service}_",
                "ksqlpy.spark.master": self.master,
                "ksqlpy.spark.memory": "700m",
                "ksql.streams.auto.offset.reset": "earliest",
            }
            server = Server(KafkaConnection(self.bootstrap), Path(folder), more)
            try:
                server.start()
                yield server
            finally:
                server.close()


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own, with nothing kept."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium(), args=list(QUIET), timeout=PATIENCE)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def browser_last() -> Iterator[None]:
    """Inside, all browsers of this process get processor time that nobody else wants, as on a machine of their own.

    What they start then inherits it. To undo it needs the right to raise priorities (sched(7)).
    """
    running = [p for p in psutil.Process().children(recursive=True) if "chrom" in p.name()]
    before = [(p.pid, p.nice()) for p in running]
    for process in running:
        process.nice(19)
    try:
        yield
    finally:
        for pid, nice in before:
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).nice(nice)


def visit(opened: Browser, address: str, script: str = "") -> Page:
    """A page in a context of its own: its cache is empty. ``script`` runs ahead of all others."""
    context = opened.new_context(locale="en-US", viewport=SIZE)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    if script:
        page.add_init_script(script)
    page.goto(address)
    return page


class Worked:
    """The processor time of a process, in seconds, and of those below it if ``whole``."""

    def __init__(self, pid: int, *, whole: bool = False) -> None:
        self._process, self._whole = psutil.Process(pid), whole
        self._began, self._had = time.monotonic(), self._now()

    def _now(self) -> float:
        found = [self._process, *(self._process.children(recursive=True) if self._whole else [])]
        return sum(p.cpu_times().user + p.cpu_times().system for p in found)

    def share(self) -> float:
        """Percent of a core since it was made."""
        return 100 * (self._now() - self._had) / (time.monotonic() - self._began)


def p95(millis: Sequence[float]) -> str:
    """Median, p95 and maximum, and of how many."""
    ordered = sorted(millis)
    p50, p95, most = (quantile(ordered, q) for q in (0.5, 0.95, 1))
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, max {most:.1f} ms of {len(ordered):,}"


def told(what: str, wanted: str = "") -> str:
    """The line of a figure, with what it has to be and how busy the machine is."""
    return f"{what} ({f'wanted: {wanted}; ' if wanted else ''}load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)"
