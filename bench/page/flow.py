"""Flow of 200 queries: how long its layout takes in the page, and until it is drawn; and its figures each second."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.page.browsers import Bench, Worked, browser, p95, told, visit

__all__ = ["flow"]

QUERIES = 200
ROUNDS = 7
LOOK = 15.0
"""Seconds in which figures come."""

LAYOUT = "performance.getEntriesByName('flow layout').map(m => m.duration)"

WATCH = """
window.frames1 = [];
window.watchFrames = () => {
  let before = performance.now();
  const step = now => { window.frames1.push(now - before); before = now; requestAnimationFrame(step); };
  requestAnimationFrame(step);
};
"""


def flow(bench: Bench) -> Iterator[str]:
    """Three lines."""
    layouts, drawn, frames, nodes, share = [], [], [], 0, 0.0
    with _serve(QUERIES) as (url, pid), browser() as opened:
        for number in range(ROUNDS):
            page = visit(opened, f"{url}/ui/#/flow", WATCH)
            page.locator("g.node").nth(QUERIES).wait_for(state="attached")
            drawn.append(float(page.evaluate("performance.now()")))
            layouts += map(float, page.evaluate(LAYOUT))
            nodes = page.locator("g.node").count()
            if number == ROUNDS - 1:
                page.locator("path.flows").first.wait_for(state="attached")
                worked = Worked(pid)
                page.evaluate("watchFrames()")
                time.sleep(LOOK)
                frames, share = page.evaluate("window.frames1"), worked.share()
            page.context.close()
    each = " ".join(f"{ms:.0f}" for ms in layouts)
    shown = f"{QUERIES} queries, {nodes} nodes"
    yield told(f"layout {statistics.median(layouts):.0f} ms (median of {each}; {shown})", "at most 300 ms")
    yield told(f"drawn {statistics.median(drawn):.0f} ms after the address was opened, cold (median of {ROUNDS})")
    yield told(f"frames while figures of all queries change each second: {p95(frames)}; server {share:.1f} % of a core")


@contextmanager
def _serve(queries: int) -> Iterator[tuple[str, int]]:
    """The address and the process of a server with so many queries, which are not run."""
    command = [sys.executable, "-m", "bench.page.catalogue", str(queries)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the server with the catalogue has not started")
            yield url, process.pid
        finally:
            process.terminate()
