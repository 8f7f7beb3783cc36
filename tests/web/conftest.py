"""The web page in a browser: Debian's Chromium, which Playwright drives, before a real server and broker.

What is missing is said by the skip: the page is built by ``make web``, which needs Node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.support.real_server import real_server
from tests.web.chromium import BUILT, PROGRAMS, QUIET, chromium
from tests.web.watched import Watched, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests; each has a context of its own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = chromium()
    if program is None:
        pytest.skip(f"there is none of {', '.join(PROGRAMS)}")
    if not BUILT.exists():
        pytest.skip("the page is not built: make web")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=list(QUIET), timeout=120_000)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def server(
    browser: Browser, spark: object, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    """A server without a login, on a broker without topics, for the tests of a file."""
    folder = tmp_path_factory.mktemp("web")
    with real_server(broker, folder, f"web_{folder.name}") as running:
        yield running


@pytest.fixture
def opened(browser: Browser, server: ServerThread) -> Iterator[Callable[..., Page]]:
    """Opens the page, also several times; at its end nothing may have gone wrong in it."""
    pages: list[Watched] = []

    def open_page(address: str = "", url: str = server.url, **options: object) -> Page:
        # Texts of numbers and times are those of this language and zone.
        context = browser.new_context(**{"locale": "en-US", "timezone_id": "Asia/Tokyo", **options})
        context.set_default_timeout(120_000)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        pages.append(watched(page, url))
        page.goto(f"{url}/ui/{address}")
        return page

    yield open_page
    try:
        for seen in pages:
            seen.check()
    finally:
        for seen in pages:
            seen.page.context.close()


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    """The page, as one who comes for the first time sees it."""
    return opened()
