"""A push query in the grid, with thousands of rows a second for some minutes: memory, frames, and rows shown."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from bench.beside import running
from bench.page.browsers import Bench, Worked, browser, told, visit

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

__all__ = ["rows", "run"]

WARM = 10.0
"""Seconds of rows ahead of the first look: the ring is full by then, and the page is compiled."""
TICK = 0.02
"""Seconds between two bunches of records."""
STEP = 5.0
"""Seconds between looks at the page, which let messages of the browser through."""

SOURCE = (
    "CREATE STREAM many (k STRING KEY, id BIGINT, city STRING, fare DECIMAL(10, 2), note STRING)"
    " WITH (KAFKA_TOPIC='many', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
QUERY = "SET 'auto.offset.reset' = 'latest'; SELECT * FROM many EMIT CHANGES;"

WATCH = """
const LONGEST = 5000;
window.frameTimes = new Uint32Array(LONGEST + 1);
window.watchFrames = () => {
  let before = performance.now();
  const step = now => {
    window.frameTimes[Math.min(LONGEST, Math.round(now - before))]++;
    before = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
};
"""
"""Counts frames by ms: what is measured needs no memory that grows."""


def rows(bench: Bench) -> Iterator[str]:
    """Four lines."""
    with bench.serve("rows") as server, browser() as opened:
        server.statements(SOURCE)
        page = visit(opened, f"{server.url}/ui/", WATCH)
        client = page.context.new_cdp_session(page)
        sent = itertools.count()
        with running(lambda over: _produce(bench.bootstrap, bench.rate, over, sent)):
            run(page, QUERY)
            time.sleep(WARM)
            page.evaluate("watchFrames()")
            had, began = _counts(page), time.monotonic()
            worked, renderer = Worked(server.pid), _Renderer(client)
            heaps = [_heap(client)]
            for half in (1, 2):
                while time.monotonic() < began + half * bench.seconds / 2:
                    page.wait_for_timeout(STEP * 1000)
                heaps.append(_heap(client))
            seconds = time.monotonic() - began
            server_share, page_share = worked.share(), renderer.share()
            now, frames = _counts(page), _frames(page)
        came = now["rows"] - had["rows"]
        shown = f"{came:,} rows in {seconds:.0f} s, {came / seconds:,.0f} a second of {bench.rate:,} that were sent"
    yield told(f"{shown}; not shown: {now['lost']:,} of all {now['rows']:,} ({now['state']})")
    at = ("start", "middle", "end")
    each = ", ".join(f"{heap / 2**20:.1f} MB at the {when}" for heap, when in zip(heaps, at, strict=True))
    yield told(f"JS heap behind a collection: {each}: {heaps[-1] / heaps[0] - 1:+.1%}", "within ±10 %")
    yield told(f"frames: {_quantiles(frames)}", "p99 at most 100 ms")
    yield told(f"processor time: page {page_share:.0f} % of a core, server {server_share:.0f} %")


def _produce(bootstrap: str, rate: int, over: threading.Event, numbers: Iterator[int]) -> None:
    """Sends so many records a second; after a delay it catches up."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 500_000})
    began, sent = time.monotonic(), 0
    while not over.wait(TICK):
        due = int((time.monotonic() - began) * rate)
        for _ in range(due - sent):
            number = next(numbers)
            value = b'{"ID":%d,"CITY":"city %d","FARE":%d.50,"NOTE":"a note about ride %d"}'
            producer.produce(
                "many", key=b"k%d" % (number % 50), value=value % (number, number % 97, number % 90, number)
            )
        sent = due
        producer.poll(0)
    producer.flush(10)


def run(page: Page, text: str) -> None:
    """Runs statements in the editor, and waits for the first row."""
    page.get_by_role("textbox", name="Statements").click()
    page.keyboard.insert_text(text)
    page.get_by_role("button", name="Run all").click()
    page.get_by_role("gridcell").first.wait_for()


def _counts(page: Page) -> dict[str, Any]:
    """The rows that the page has counted, how many of them it shows no more, and the state of the query."""
    section = page.get_by_role("region", name="Rows of the query")
    rows = _number(section.get_by_test_id("count").inner_text())
    lost = section.get_by_text("not shown:")
    return {
        "rows": rows,
        "lost": _number(lost.inner_text()) if lost.count() else 0,
        "state": section.locator(".state").inner_text(),
    }


def _number(text: str) -> int:
    return int("".join(c for c in text if c.isdigit()) or "0")


def _heap(client: CDPSession) -> int:
    """Bytes that JavaScript uses, behind a collection."""
    client.send("HeapProfiler.collectGarbage")
    return int(client.send("Runtime.getHeapUsage")["usedSize"])


class _Renderer:
    """The processor time of the page's own process, by the browser's account."""

    def __init__(self, client: CDPSession) -> None:
        self._client = client
        client.send("Performance.enable")
        self._began, self._had = self._now()

    def _now(self) -> tuple[float, float]:
        found = {m["name"]: float(m["value"]) for m in self._client.send("Performance.getMetrics")["metrics"]}
        return found["Timestamp"], found["TaskDuration"]

    def share(self) -> float:
        """Percent of a core that its main thread was busy."""
        now, has = self._now()
        return 100 * (has - self._had) / (now - self._began)


def _frames(page: Page) -> Mapping[int, int]:
    """Frames by ms."""
    found: list[int] = page.evaluate("Array.from(window.frameTimes)")
    return {ms: count for ms, count in enumerate(found) if count}


def _quantiles(frames: Mapping[int, int]) -> str:
    total = sum(frames.values())

    def at(share: float) -> int:
        seen = 0
        for ms, count in frames.items():
            seen += count
            if seen >= share * total:
                return ms
        return max(frames)

    long = sum(count for ms, count in frames.items() if ms > 100)
    return f"p50 {at(0.5)} ms, p99 {at(0.99)} ms, max {max(frames)} ms of {total:,}; {long:,} above 100 ms"
