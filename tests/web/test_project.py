"""What files of statements would change, and its doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ksqlpy.server.run import ServerThread
from tests.web.shop import run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]

STREAM = (
    "CREATE STREAM trips (id INT) WITH (KAFKA_TOPIC = 'trips', KEY_FORMAT = 'KAFKA',"
    " VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
)


def test_a_plan_is_shown_and_applied(opened: Callable[..., Page], server: ServerThread) -> None:
    page = opened("#/project")
    text = page.get_by_role("textbox", name="Statements of the project")
    text.fill("CREATE STREAM t AS SELECT ide FROM trips;")
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("alert").filter(has_text="pasted.sql:1").first.wait_for()
    assert page.get_by_role("button", name="Apply").count() == 0
    text.fill(STREAM)
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("article", name="create TRIPS").get_by_text("+ CREATE STREAM").wait_for()
    assert "TRIPS" not in str(run(server.url, "SHOW STREAMS;"))
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("status").get_by_text("Done:").wait_for()
    assert "TRIPS" in str(run(server.url, "SHOW STREAMS;"))
    page.get_by_role("button", name="Plan").click()
    page.get_by_text("1 unchanged").wait_for()
