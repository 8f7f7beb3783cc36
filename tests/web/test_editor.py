"""Statements that are written and run in the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.web.editor import cells, results, run, write

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]

RIDES = """
CREATE STREAM {0} (city STRING KEY, id BIGINT, fare DECIMAL(30, 2))
  WITH (KAFKA_TOPIC = '{0}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


def test_from_create_to_rows(page: Page, opened: Callable[..., Page]) -> None:
    run(page, RIDES.format("rides"))
    results(page).get_by_text("Stream created").wait_for()
    run(page, "SET 'auto.offset.reset' = 'earliest'; SELECT * FROM rides EMIT CHANGES;")
    results(page).get_by_text("running").wait_for()
    other = opened()
    run(
        other,
        "INSERT INTO rides VALUES ('Oslo', 9007199254740993, 12345678901234567890.50);"
        "INSERT INTO rides VALUES ('Bergen', 2, 7);",
    )
    page.get_by_test_id("count").get_by_text("2 rows").wait_for()
    # More digits than a number of JavaScript has.
    assert cells(page) == [["Oslo", "9007199254740993", "12345678901234567890.50"], ["Bergen", "2", "7.00"]]
    titles = page.get_by_role("columnheader").all_inner_texts()
    assert [t.split() for t in titles] == [["CITY", "STRING"], ["ID", "BIGINT"], ["FARE", "DECIMAL(30,", "2)"]]
    page.get_by_role("button", name="Stop").last.click()
    results(page).get_by_text("stopped").wait_for()


def test_an_error_has_its_place_and_a_hint(page: Page) -> None:
    run(page, RIDES.format("trips") + "SELECT citi FROM trips EMIT CHANGES;")
    problem = results(page).get_by_role("alert")
    problem.wait_for()
    told = problem.inner_text()
    assert "CITI" in told
    assert "^" in told
    assert "CITY" in told
    assert "unknown-column" in told


def test_ctrl_enter_runs_the_statement_at_the_cursor(page: Page) -> None:
    write(page, "SHOW STREAMS;\n\nSHOW TABLES")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+Enter")
    results(page).get_by_role("table").wait_for()
    assert results(page).get_by_role("article").count() == 1
    assert "topic" in results(page).inner_text()


def test_rows_are_text_whatever_they_hold(page: Page, opened: Callable[..., Page]) -> None:
    evil = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    run(page, RIDES.format("evil"))
    results(page).get_by_text("Stream created").wait_for()
    literal = evil.replace("'", "''")
    run(page, f"INSERT INTO evil VALUES ('{literal}', 1, 1); SELECT * FROM evil;")
    page.get_by_test_id("count").get_by_text("1 row").wait_for()
    assert cells(page)[0][0] == evil
    page.get_by_role("gridcell").first.click()
    assert page.get_by_role("dialog").locator("pre").inner_text() == evil
    assert page.locator("img").count() == 0
    assert "run" not in page.title()


def test_rows_are_paused_filtered_copied_and_saved(page: Page, opened: Callable[..., Page]) -> None:
    run(page, RIDES.format("many"))
    results(page).get_by_text("Stream created").wait_for()
    rows = "".join(f"INSERT INTO many VALUES ('c{n}', {n}, {n});" for n in range(30))
    run(page, rows + "SET 'auto.offset.reset' = 'earliest'; SELECT city, id FROM many EMIT CHANGES;")
    count = page.get_by_test_id("count")
    count.get_by_text("30 rows").wait_for()
    page.get_by_role("button", name="Pause").click()
    other = opened()
    run(other, "INSERT INTO many VALUES ('later', 99, 1);")
    count.get_by_text("31 rows").wait_for()
    assert page.get_by_role("gridcell", name="later").count() == 0
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("gridcell", name="later").wait_for()
    page.get_by_role("searchbox", name="Filter rows").fill("c2")
    page.get_by_text("11 match").wait_for()  # c2, c20 … c29
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0] == "CITY,ID"
    assert sorted(copied[1:])[:2] == ["c2,2", "c20,20"]
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == '{"CITY":"c2","ID":2}'
    assert len(lines) == 11


def test_what_is_wrong_is_marked_while_one_types(page: Page) -> None:
    write(page, "SELECT * FROM nowhere EMIT CHANGES;")
    marked = page.locator(".cm-lintRange-error")
    marked.wait_for()
    assert marked.inner_text() == "nowhere"
    marked.hover()
    page.get_by_text("there is no stream or table NOWHERE").wait_for()
    write(page, "SHOW STREAMS;")
    marked.wait_for(state="detached")


def test_options_and_signatures_come_from_the_server(page: Page) -> None:
    run(page, RIDES.format("offers"))
    results(page).get_by_text("Stream created").wait_for()
    write(page, "")
    page.keyboard.type("SELECT fa")
    page.keyboard.insert_text(" FROM offers EMIT CHANGES;")
    for _ in range(len(" FROM offers EMIT CHANGES;")):
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("r")
    options = page.locator(".cm-tooltip-autocomplete")
    options.get_by_text("DECIMAL(30, 2)").wait_for()
    page.wait_for_timeout(200)  # CodeMirror takes no key for a list that is younger than 75 ms
    page.keyboard.press("Enter")
    assert "fare FROM offers" in page.get_by_role("textbox", name="Statements").inner_text()
    write(page, "SELECT ROUND(")
    signature = page.locator(".signature")
    signature.wait_for()
    assert "ROUND(" in signature.inner_text()


def test_tabs_their_texts_and_the_history_are_kept(page: Page) -> None:
    run(page, "SHOW TABLES;")
    results(page).get_by_role("article").wait_for()
    page.get_by_role("button", name="New tab").click()
    write(page, "SHOW QUERIES;")
    page.reload()
    assert page.get_by_role("tab").all_inner_texts() == ["Tab 1", "Tab 2"]
    text = page.get_by_role("textbox", name="Statements")
    assert text.inner_text() == "SHOW QUERIES;"
    page.get_by_role("tab", name="Tab 1").click()
    assert text.inner_text() == "SHOW TABLES;"
    page.get_by_role("button", name="History").click()
    page.get_by_role("region", name="History").get_by_text("SHOW TABLES;").wait_for()
    page.get_by_role("button", name="Close the tab Tab 1").click()
    assert page.get_by_role("tab").all_inner_texts() == ["Tab 2"]


def test_properties_of_a_tab_go_with_its_statements(page: Page) -> None:
    page.get_by_role("button", name="Properties").click()
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_text("auto.offset.reset = earliest").wait_for()
    run(page, RIDES.format("early") + "INSERT INTO early VALUES ('Oslo', 1, 1);")
    results(page).get_by_role("article").nth(1).wait_for()
    run(page, "SELECT city FROM early EMIT CHANGES LIMIT 1;")
    page.get_by_role("gridcell", name="Oslo").wait_for()
    results(page).get_by_text("ended").wait_for()


def test_the_plan_stands_beside(page: Page) -> None:
    run(page, RIDES.format("planned"))
    results(page).get_by_text("Stream created").wait_for()
    write(page, "CREATE TABLE sums AS SELECT city, SUM(fare) FROM planned GROUP BY city;")
    page.get_by_role("button", name="Explain").click()
    page.get_by_role("complementary", name="Plan").get_by_text("planned").first.wait_for()


def test_records_of_a_topic_are_printed(page: Page) -> None:
    run(page, RIDES.format("printed") + "INSERT INTO printed VALUES ('Oslo', 1, 1);")
    results(page).get_by_role("article").nth(1).wait_for()
    run(page, "PRINT printed FROM BEGINNING LIMIT 1;")
    results(page).get_by_text("ended").wait_for()
    assert "Oslo" in results(page).inner_text()


def test_cells_are_reached_by_keys(page: Page) -> None:
    run(page, RIDES.format("keyed") + "INSERT INTO keyed VALUES ('Oslo', 1, 7);")
    results(page).get_by_role("article").nth(1).wait_for()
    run(page, "SELECT * FROM keyed;")
    page.get_by_test_id("count").get_by_text("1 row").wait_for()
    page.get_by_role("grid", name="Rows").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.get_by_role("dialog", name="FARE").locator("pre").inner_text() == "7.00"
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")


def test_the_last_statement_needs_no_semicolon(page: Page) -> None:
    run(page, "SHOW STREAMS; SHOW TABLES")
    results(page).get_by_role("article").nth(1).wait_for()
    assert results(page).get_by_role("alert").count() == 0
