"""Cold loads: until something is seen, and until one can write."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench.page.browsers import Bench, browser, told, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["load"]

LEAST = 5
"""Loads at least."""

WATCH = """
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    if (document.activeElement?.closest(".cm-content")) window.usable = performance.now();
    else requestAnimationFrame(look);
  };
  look();
});
"""
"""Notes when the cursor stands in the editor: what one types then is written."""

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"

SIZES = "performance.getEntriesByType('resource').reduce((sum, r) => sum + r.transferSize, 0)"


def _when(page: Page, value: str) -> float:
    """A value that the page notes, in ms, once it is there. The CSP refuses what Playwright would wait by."""
    end = time.monotonic() + 60
    while (noted := page.evaluate(value)) is None:
        if time.monotonic() > end:
            raise RuntimeError(f"the page has not noted {value} within a minute")
        page.wait_for_timeout(100)
    return float(noted)


def load(bench: Bench) -> Iterator[str]:
    """First paint and usable, each in a context without anything kept."""
    paints, usables, size = [], [], 0
    with bench.serve("load") as server, browser() as opened:
        opened.new_page().goto("about:blank")  # the browser itself has started
        for _ in range(max(LEAST, bench.rounds)):
            page = visit(opened, f"{server.url}/ui/", WATCH)
            usables.append(_when(page, "window.usable"))
            paints.append(_when(page, PAINT))
            size = int(page.evaluate(SIZES))
            page.context.close()
    for what, found, wanted in (("first paint", paints, "at most 1.0 s"), ("usable", usables, "at most 1.5 s")):
        each = " ".join(f"{ms:.0f}" for ms in found)
        yield told(f"{what} after {statistics.median(found):.0f} ms (median of cold loads: {each})", wanted)
    yield told(f"{size / 1024:.0f} KB came over the wire for the editor", "at most 600 KB")
