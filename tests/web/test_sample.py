"""``ksqlpy dev``: sample data with one click, rides that move, and the picture of them in README.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.test_picture import LARGEST, PICTURE
from tests.web.editor import results
from tests.web.editor import run as write_and_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.extended("a browser")]

BUILD = Path(__file__).parents[2] / "build" / "web"


@contextmanager
def dev(*options: str) -> Iterator[dict[str, str]]:
    """``ksqlpy dev`` as a process, and what it has printed, by the first word of each line."""
    command = [sys.executable, "-m", "ksqlpy", "dev", "--temporary", "--no-shell", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [*command, "-D", "ksqlpy.warm.up=false"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        said = {}
        for line in process.stdout:
            first, _, rest = line.strip().partition(" ")
            said[first] = rest.strip()
            if first == "Ctrl-C":
                break
        try:
            assert "Ctrl-C" in said, said
            yield said
        finally:
            process.terminate()


def node(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="Topics, sources and queries").get_by_role("button", name=name)


def test_sample_data_with_one_click(browser: Browser, opened: Callable[..., Page]) -> None:
    with dev() as said:
        page = opened("#/flow", url=said["server"])
        page.get_by_role("button", name="Load sample data").wait_for()
        page.get_by_role("link", name="Editor", exact=True).click()
        results(page).get_by_role("button", name="Load sample data").wait_for()
        page.get_by_role("link", name="Sources").click()
        page.get_by_role("button", name="Load sample data").click()
        page.get_by_text("Making streams and queries").wait_for()
        page.get_by_role("table", name="sources").get_by_role("link", name="BOROUGHS", exact=True).wait_for()
        page.get_by_role("link", name="Editor", exact=True).click()
        assert page.get_by_role("button", name="Load sample data").count() == 0
        write_and_run(page, "SELECT zone, total_amount FROM enriched_rides EMIT CHANGES;")
        page.get_by_role("gridcell").first.wait_for()  # it begins with the next ride: they move


def test_the_rides_move(browser: Browser, opened: Callable[..., Page]) -> None:
    """The picture of README.md; ``make picture`` takes it anew."""
    with dev("--sample", "taxi") as said:
        assert said["page"] == f"{said['server']}/ui/"
        page = opened("#/flow", url=said["server"], viewport={"width": 1280, "height": 640}, color_scheme="light")
        query = page.locator("g.query").filter(has_text="BOROUGHS")
        query.get_by_text(re.compile(r"running, [1-9]")).wait_for(timeout=300_000)  # six queries start
        query.get_by_role("button").click()
        page.get_by_role("button", name="Fit").click()
        panel = page.get_by_role("complementary")
        panel.get_by_text("RUNNING").wait_for()
        page.locator("path.flows").nth(6).wait_for(state="attached")
        BUILD.mkdir(parents=True, exist_ok=True)
        taken = page.screenshot(path=BUILD / "rides.png")
        assert len(taken) <= LARGEST
        if os.environ.get("KSQLPY_REWRITE"):
            PICTURE.write_bytes(taken)
