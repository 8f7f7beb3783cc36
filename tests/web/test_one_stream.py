"""One stream of figures for a browser, whatever the number of its tabs; none for tabs that nobody sees."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ksqlpy.server.figures import FigureStream
from ksqlpy.server.run import ServerThread
from tests.support.waiting import until
from tests.web.shop import make_rides, run
from tests.web.watched import watched

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request

pytestmark = [pytest.mark.extended("a browser")]


@pytest.fixture(scope="module", autouse=True)
def rides(server: ServerThread) -> None:
    make_rides(server.url)


class Tabs:
    """Tabs of one browser, with the streams of figures that they have asked for."""

    def __init__(self, first: Page, url: str) -> None:
        self._context: BrowserContext = first.context
        self._url = url
        self.asked = 0
        shows_figures(first)  # its first stream is not counted
        self._context.on("request", self._count)
        first.reload()  # so that its stream is counted
        self.all = [first]
        shows_figures(first)

    def _count(self, request: Request) -> None:
        self.asked += request.url.endswith("/figures")

    def open(self) -> Page:
        tab = self._context.new_page()
        seen = watched(tab, self._url)
        tab.goto(f"{self._url}/ui/#/flow")
        shows_figures(tab)
        seen.check()
        self.all.append(tab)
        return tab


def shows_figures(page: Page) -> None:
    """Waits until the page knows the rate of a query."""
    page.locator("g.query").filter(has_text="_LARGE_").get_by_text(re.compile(r"\d/s")).wait_for()


def flows(page: Page) -> None:
    page.locator("path.flows").first.wait_for(state="attached")


def insert(server: ServerThread, fare: int = 20) -> None:
    run(server.url, "".join(f"INSERT INTO rides VALUES ('Oslo', {n}, {fare});" for n in range(20)))


def streams(server: ServerThread) -> list[object]:
    """The streams of figures that the server sends."""
    return [stream for stream in tuple(server.backend._open) if isinstance(stream, FigureStream)]


def turn(page: Page, sight: str) -> None:
    """As if the tab came into sight, or went out of it: a browser without a window shows all of them."""
    page.evaluate(
        "sight => { Object.defineProperty(document, 'visibilityState', {value: sight, configurable: true});"
        " Object.defineProperty(document, 'hidden', {value: sight === 'hidden', configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        sight,
    )


@pytest.fixture
def tabs(opened: Callable[..., Page], server: ServerThread) -> Tabs:
    return Tabs(opened("#/flow"), server.url)


def test_one_tab_reads_for_all_and_another_one_follows_it(tabs: Tabs, server: ServerThread) -> None:
    second, third = tabs.open(), tabs.open()
    assert tabs.asked == 1
    insert(server)
    for tab in (tabs.all[0], second, third):
        flows(tab)
    shows_figures(third)
    # The tab that reads is closed.
    tabs.all[0].close()
    assert until(lambda: second.evaluate("1") and tabs.asked == 2)
    insert(server)
    flows(second)
    flows(third)
    assert tabs.asked == 2


def test_a_tab_out_of_sight_reads_nothing(tabs: Tabs, server: ServerThread) -> None:
    first, second = tabs.all[0], tabs.open()
    turn(first, "hidden")
    # Another one that is in sight reads on.
    assert until(lambda: second.evaluate("1") and tabs.asked == 2)
    turn(second, "hidden")
    assert until(lambda: not streams(server))
    insert(server)
    turn(first, "visible")
    shows_figures(first)
    assert tabs.asked == 3
    insert(server)
    flows(first)


def test_tabs_of_another_login_read_by_their_own(tabs: Tabs, server: ServerThread) -> None:
    """What one may see is not told to a tab in which somebody else has logged in."""
    other = tabs.all[0].context.new_page()
    other.route("**/whoami", lambda route: route.fulfill(json={**route.fetch().json(), "name": "ann", "roles": []}))
    other.goto(f"{server.url}/ui/#/flow")
    shows_figures(other)
    assert tabs.asked == 2
