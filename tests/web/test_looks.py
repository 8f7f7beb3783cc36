"""How the pages look: in both themes, at three widths, for the eyes of a screen reader.

The pictures are kept in ``build/web``, to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ksqlpy.server.run import ServerThread
from tests.web.editor import run as write_and_run
from tests.web.shop import make_rides

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = ROOT / "build" / "web"
PAGES = ("editor", "flow", "sources", "queries", "topics", "letters", "project", "server")
THEMES = ("light", "dark")
WIDTHS = ((380, 800), (1280, 800), (2560, 1440))


@pytest.fixture(scope="module", autouse=True)
def rides(server: ServerThread) -> None:
    make_rides(server.url)


def show(page: Page, name: str) -> None:
    """Brings something onto a page."""
    if name == "editor":
        write_and_run(page, "SELECT * FROM rides;")
        page.get_by_text("5 rows").wait_for()
    elif name == "flow":
        page.get_by_role("button", name="stream LARGE").click()
        page.get_by_role("complementary").get_by_text("DECIMAL(10, 2)").first.wait_for()
    elif name == "letters":
        page.get_by_text("There are none.").wait_for()
    elif name == "project":
        page.get_by_role("heading", name="Project").wait_for()
    elif name == "server":
        page.get_by_role("table", name="properties").wait_for()
    else:
        page.get_by_role("table", name=name).wait_for()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wrong_for_a_screen_reader(opened: Callable[..., Page], name: str, theme: str) -> None:
    page = opened(f"#/{name}", color_scheme=theme, viewport={"width": 1280, "height": 800}, bypass_csp=True)
    show(page, name)
    page.add_script_tag(path=str(AXE))
    found: list[dict[str, Any]] = page.evaluate("axe.run().then(told => told.violations)")
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in serious] == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_all_pages_fit(opened: Callable[..., Page], theme: str, width: int, height: int) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = opened(color_scheme=theme, viewport={"width": width, "height": height})
    for name in PAGES:
        page.evaluate("address => { location.hash = address }", f"#/{name}")
        show(page, name)
        page.screenshot(path=PICTURES / f"{name}-{theme}-{width}.png")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} pixels wide"
