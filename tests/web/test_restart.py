"""A server that ends and comes back while its page is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ksqlpy.server.run import ServerThread
from tests.harness.server import free_port
from tests.web.editor import results
from tests.web.editor import run as write_and_run
from tests.web.shop import make_rides, run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]


def test_the_page_goes_on_by_itself(opened: Callable[..., Page], server: ServerThread) -> None:
    engine, port = server.backend.engine, free_port()
    make_rides(server.url)
    with ServerThread(engine, port=port) as before:
        page = opened("#/flow", url=before.url)
        page.get_by_role("button", name="stream RIDES").wait_for()
    away = page.get_by_text("The server does not answer")
    away.wait_for()
    run(server.url, "CREATE STREAM meanwhile (x INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON');")
    with ServerThread(engine, port=port):
        away.wait_for(state="detached")
        page.get_by_role("button", name="stream MEANWHILE").wait_for()
        page.get_by_role("link", name="Editor").click()
        write_and_run(page, "SHOW TABLES;")
        results(page).get_by_text("FARES").first.wait_for()
