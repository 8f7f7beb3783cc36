"""The tables of sources, queries and topics, and the pages of each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ksqlpy.server.run import ServerThread
from tests.web.shop import make_rides, run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]


@pytest.fixture(scope="module", autouse=True)
def rides(server: ServerThread) -> None:
    make_rides(server.url)


def first(page: Page, table: str) -> list[str]:
    """The first cells of the rows of a table."""
    rows = page.get_by_role("table", name=table).locator("tbody tr")
    rows.first.wait_for()
    return [row.locator("td").first.inner_text() for row in rows.all()]


def test_sources_are_sorted_and_searched(opened: Callable[..., Page]) -> None:
    page = opened("#/sources")
    assert first(page, "sources") == ["FARES", "LARGE", "RIDES"]
    page.get_by_role("button", name="Name").click()
    assert first(page, "sources") == ["RIDES", "LARGE", "FARES"]
    assert page.get_by_role("columnheader", name="Name").get_attribute("aria-sort") == "descending"
    page.get_by_role("searchbox").fill("table")
    assert first(page, "sources") == ["FARES"]


def test_a_source_has_a_page(opened: Callable[..., Page]) -> None:
    page = opened("#/sources")
    page.get_by_role("table", name="sources").get_by_role("link", name="RIDES", exact=True).click()
    page.get_by_role("heading", name="RIDES").wait_for()
    page.get_by_text("DECIMAL(10, 2)").first.wait_for()
    page.get_by_role("button", name="Show some rows").click()
    page.get_by_role("cell", name="14.50").wait_for()
    page.get_by_role("button", name="Query").click()
    page.get_by_role("textbox", name="Statements").get_by_text("SELECT * FROM `RIDES` EMIT CHANGES;").wait_for()


def test_queries_have_figures_and_a_page(opened: Callable[..., Page]) -> None:
    page = opened("#/queries")
    names = first(page, "queries")
    assert [n.rpartition("_")[0] for n in names] == ["CSAS_LARGE", "CTAS_FARES"]
    page.get_by_role("row").filter(has_text="CTAS_FARES").get_by_text("RUNNING").wait_for()
    page.get_by_role("link", name=names[1]).click()
    page.get_by_role("heading", name=names[1]).wait_for()
    page.get_by_role("definition").filter(has_text="5 (").first.wait_for()  # rows in
    page.get_by_role("img", name="Rows a second, last hour").locator("canvas").wait_for()
    page.get_by_text("Aggregate").first.wait_for()  # of the plan


def test_topics_their_records_and_a_proposal(opened: Callable[..., Page]) -> None:
    page = opened("#/topics")
    assert {"rides", "LARGE", "FARES"} <= set(first(page, "topics"))
    page.get_by_role("link", name="rides", exact=True).click()
    page.get_by_role("button", name="Show its first records").click()
    page.get_by_text('"FARE":14.50').wait_for()
    page.get_by_role("button", name="Propose a CREATE statement").click()
    text = page.get_by_role("textbox", name="Statements")
    text.get_by_text("CREATE STREAM").wait_for()
    assert "`FARE` DOUBLE" in text.inner_text()


def test_what_is_not_there_is_said(opened: Callable[..., Page]) -> None:
    opened("#/queries/NO_1").get_by_text("There is no query NO_1").wait_for()
    opened("#/sources/NO").get_by_text("There is no stream or table NO").wait_for()


def test_the_server_tells_health_and_properties(opened: Callable[..., Page]) -> None:
    page = opened("#/server")
    page.get_by_text("✓ healthy").first.wait_for()
    page.get_by_text("Heap of Spark's JVM").wait_for()
    rows = page.get_by_role("table", name="properties").locator("tbody tr")
    rows.first.wait_for()
    assert rows.first.locator("td").first.inner_text() == "set"
    page.get_by_text("The server asks nobody for a login").wait_for()
    page.get_by_text("The server has none: ksqlpy.audit.file").wait_for()


def test_times_are_those_of_the_users_zone(opened: Callable[..., Page]) -> None:
    page = opened("#/queries")
    page.get_by_role("link", name="CTAS_FARES").first.click()
    time = page.locator("dd time").first
    time.wait_for()
    assert (time.get_attribute("title") or "").endswith(" UTC")
    iso = time.get_attribute("datetime")
    local = page.evaluate(
        "iso => new Date(iso).toLocaleString('en-US',"
        " {dateStyle: 'medium', timeStyle: 'medium', timeZone: 'Asia/Tokyo'})",
        iso,
    )
    assert time.inner_text() == local


def test_a_new_topic_comes_into_the_list_by_itself(opened: Callable[..., Page], server: ServerThread) -> None:
    page = opened("#/topics")
    page.get_by_role("link", name="rides", exact=True).wait_for()
    run(server.url, "CREATE STREAM fresh (x INT) WITH (KAFKA_TOPIC = 'fresh', FORMAT = 'JSON', PARTITIONS = 1);")
    page.get_by_role("link", name="fresh", exact=True).wait_for()
    run(server.url, "DROP STREAM fresh DELETE TOPIC;")
    page.get_by_role("link", name="fresh", exact=True).wait_for(state="detached")


def test_a_search_is_in_texts_not_in_figures(opened: Callable[..., Page]) -> None:
    page = opened("#/queries")
    first(page, "queries")
    page.get_by_role("searchbox").fill("5")  # rows have gone through
    page.get_by_text("0 of 2").wait_for()


def test_the_part_that_is_unhealthy_is_named(opened: Callable[..., Page]) -> None:
    page = opened()
    sick = {"isHealthy": False, "details": {"kafka": {"isHealthy": False, "details": "brokers are away"}}}
    page.route("**/healthcheck", lambda route: route.fulfill(status=503, json=sick))
    page.get_by_role("link", name="Server").click()
    page.get_by_role("listitem").filter(has_text="✗ unhealthy kafka").get_by_text("brokers are away").wait_for()


def test_a_page_that_cannot_be_loaded_says_so(opened: Callable[..., Page]) -> None:
    page = opened()
    page.route("**/assets/TopicsPage*", lambda route: route.abort())
    page.get_by_role("link", name="Topics").click()
    page.get_by_role("alert").get_by_text("This page could not be loaded").wait_for()
    page.unroute("**/assets/TopicsPage*")
    page.get_by_role("button", name="Load anew").click()
    assert "rides" in first(page, "topics")


def test_the_focus_goes_with_the_page(opened: Callable[..., Page]) -> None:
    page = opened("#/sources")
    link = page.get_by_role("table", name="sources").get_by_role("link", name="RIDES", exact=True)
    link.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="RIDES").wait_for()
    page.wait_for_function("document.querySelector('main').contains(document.activeElement)")


def test_a_proposal_that_is_refused_says_why(opened: Callable[..., Page]) -> None:
    page = opened("#/topics/no-such-topic")
    page.get_by_role("button", name="Propose a CREATE statement").click()
    page.get_by_role("alert").get_by_text("no-such-topic").first.wait_for()
