"""What open pages cost the server's process, in percent of a core, with queries that run and records that come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench.beside import fed
from bench.page.browsers import Bench, Worked, browser, told, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["pages"]

SETTLE = 10.0
"""Seconds ahead of a look: pages have loaded, and what they asked at first is answered."""
LOOK = 45.0
"""Seconds that are counted."""
FEED = 50
"""Records a second that all queries read."""

VIEWS = ("#/editor", "#/flow", "#/sources", "#/queries", "#/server")


def pages(bench: Bench) -> Iterator[str]:
    """A line for no page, one for five tabs of a browser, one for five browsers, each on a view of its own."""
    with bench.serve("pages") as server, browser() as opened:
        states = bench.rig.start_queries(server, bench.queries, "P")
        topic = "P"
        with fed(bench.bootstrap, topic, FEED):
            none = _cost(server.pid)
            with ExitStack() as open_pages:
                _tabs(opened, server.url, open_pages)
                tabs = _cost(server.pid)
            with ExitStack() as open_pages:
                for view in VIEWS:
                    open_pages.callback(visit(opened, f"{server.url}/ui/{view}").context.close)
                browsers = _cost(server.pid)
            after = _cost(server.pid)
        quiet = (none + after) / 2
        shown = f"{bench.queries} queries ({states}), {FEED} records/s, {LOOK:.0f} s each"
        yield told(f"the server's process without a page: {none:.2f} % of a core before, {after:.2f} % after; {shown}")
        for what, cost in (("five tabs of a browser", tabs), ("a tab of each of five browsers", browsers)):
            yield told(f"{what}: {cost - quiet:+.2f} % of a core ({cost:.2f} % in all); {shown}", "at most 3 %")


def _tabs(opened: Browser, url: str, open_pages: ExitStack) -> None:
    """Five tabs of one browser; without a window all of them are in sight."""
    first: Page = visit(opened, f"{url}/ui/{VIEWS[0]}")
    open_pages.callback(first.context.close)
    for view in VIEWS[1:]:
        first.context.new_page().goto(f"{url}/ui/{view}")


def _cost(pid: int) -> float:
    time.sleep(SETTLE)
    worked = Worked(pid)
    time.sleep(LOOK)
    return worked.share()
