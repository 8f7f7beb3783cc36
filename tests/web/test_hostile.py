"""Data and names that a page may stumble over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.web.editor import results
from tests.web.editor import run as write_and_run
from tests.web.shop import run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]

NAME = "low-er_2"
COLUMN = "Øl 漢字 <b>x</b> & 'q' \" %2F#/?"
"""A name with letters of several scripts, and with all that HTML, SQL and addresses use."""


def test_a_value_of_a_megabyte(page: Page, server: ServerThread, broker: EmbeddedKafka) -> None:
    run(server.url, "CREATE STREAM huge (v STRING) WITH (KAFKA_TOPIC = 'huge', VALUE_FORMAT = 'JSON', PARTITIONS = 1);")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 2_000_000})
    producer.produce("huge", json.dumps({"V": "x" * 900_000}))
    producer.flush(20)
    write_and_run(page, "SELECT * FROM huge;")
    cell = page.get_by_role("gridcell").first
    cell.wait_for()
    assert len(cell.inner_text()) < 1000
    cell.click()
    page.get_by_role("dialog").get_by_text("800,000 more characters are not shown").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText().then(text => text.length)") == 900_000


def test_500_columns(page: Page, server: ServerThread) -> None:
    columns = ", ".join(f"c{n} INT" for n in range(500))
    with_ = "WITH (KAFKA_TOPIC = 'wide', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"
    run(server.url, f"CREATE STREAM wide ({columns}) {with_};")
    run(server.url, "INSERT INTO wide (c0, c499) VALUES (1, 2);")
    write_and_run(page, "SELECT * FROM wide;")
    page.get_by_role("columnheader", name="C0 INTEGER").wait_for()
    assert page.get_by_role("gridcell").count() < 100  # those in sight
    page.get_by_role("grid", name="Rows").evaluate("grid => { grid.scrollLeft = grid.scrollWidth }")
    page.get_by_role("columnheader", name="C499").wait_for()
    page.get_by_role("gridcell", name="2", exact=True).wait_for()


def test_names_of_all_kinds(opened: Callable[..., Page], server: ServerThread) -> None:
    columns = f"(k INT KEY, `{COLUMN}` INT)"
    with_ = "WITH (KAFKA_TOPIC = 'named', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"
    run(server.url, f"CREATE STREAM `{NAME}` {columns} {with_}; INSERT INTO `{NAME}` VALUES (1, 77);")
    page = opened("#/sources")
    page.get_by_role("link", name=NAME).click()
    page.get_by_role("heading", name=NAME).wait_for()
    page.get_by_role("button", name="Show some rows").click()
    page.get_by_role("cell", name="77").wait_for()
    assert page.get_by_role("columnheader", name=COLUMN).all_inner_texts() == [COLUMN]
    page.get_by_role("link", name="In the flow").click()
    page.get_by_role("complementary").get_by_role("heading", name=NAME).wait_for()
    assert page.locator("b").count() == 0


def test_two_pages_drop_the_same(opened: Callable[..., Page], server: ServerThread) -> None:
    run(server.url, "CREATE STREAM twice (x INT) WITH (KAFKA_TOPIC = 'twice', VALUE_FORMAT = 'JSON', PARTITIONS = 1);")
    pages = [opened("#/sources/TWICE") for _ in range(2)]
    for page in pages:
        page.get_by_role("button", name="Drop").click()
    pages[0].get_by_role("dialog").get_by_role("button", name="Drop", exact=True).click()
    pages[0].get_by_role("heading", name="Sources").wait_for()
    pages[1].get_by_text("There is no stream or table TWICE").wait_for()
    pages[1].get_by_role("link", name="Editor").click()
    write_and_run(pages[1], "DROP STREAM twice;")
    results(pages[1]).get_by_text("TWICE").wait_for()
