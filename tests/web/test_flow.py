"""The graph of the page, and what can be done with its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ksqlpy.server.run import ServerThread
from tests.support.waiting import until
from tests.web.shop import count, make_rides, run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.extended("a browser")]


@pytest.fixture(scope="module", autouse=True)
def rides(server: ServerThread) -> None:
    make_rides(server.url)


@pytest.fixture
def flow(opened: Callable[..., Page]) -> Page:
    page = opened("#/flow")
    node(page, "stream RIDES").wait_for()
    return page


def node(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="Topics, sources and queries").get_by_role("button", name=name)


def query(page: Page, sink: str) -> Locator:
    return page.locator("g.query").filter(has_text=f"_{sink}_")


def names(page: Page) -> set[str]:
    labels = [(n.get_attribute("aria-label") or "").partition(",")[0] for n in page.locator("g.node > rect").all()]
    return {label.rpartition("_")[0] if label.startswith("query") else label for label in labels}


SOURCES = {"stream RIDES", "query CSAS_LARGE", "stream LARGE", "query CTAS_FARES", "table FARES"}


def test_sources_and_queries_stand_from_left_to_right(flow: Page) -> None:
    assert names(flow) == SOURCES
    order = [node(flow, "stream RIDES"), query(flow, "LARGE"), node(flow, "stream LARGE"), query(flow, "FARES")]
    places = [box["x"] for n in order if (box := n.bounding_box()) is not None]
    assert places == sorted(places)
    assert len(places) == 4
    flow.get_by_label("Topics", exact=True).check()
    node(flow, "topic rides").wait_for()
    assert names(flow) == SOURCES | {"topic rides", "topic LARGE", "topic FARES"}


def test_only_what_leads_to_a_node(flow: Page, server: ServerThread) -> None:
    run(server.url, "CREATE STREAM apart (x INT) WITH (KAFKA_TOPIC = 'apart', FORMAT = 'JSON', PARTITIONS = 1);")
    node(flow, "stream APART").wait_for()  # without a reload
    node(flow, "stream LARGE").click()
    flow.get_by_label("Only what leads to it, and from it").check()
    node(flow, "stream APART").wait_for(state="detached")
    assert names(flow) == SOURCES
    run(server.url, "DROP STREAM apart DELETE TOPIC;")


def test_a_search_marks_nodes_and_enter_goes_to_one(flow: Page) -> None:
    flow.get_by_role("searchbox", name="Search the graph").fill("fares")
    flow.get_by_text("2 found").wait_for()
    assert flow.locator("g.node.faint").count() == 3
    flow.keyboard.press("Enter")
    flow.get_by_role("complementary").get_by_role("heading", name="FARES").wait_for()


def test_a_source_has_its_schema_and_its_rows(flow: Page) -> None:
    node(flow, "stream RIDES").click()
    panel = flow.get_by_role("complementary", name="stream RIDES")
    panel.get_by_text("DECIMAL(10, 2)").first.wait_for()
    panel.get_by_role("button", name="Show some rows").click()
    panel.get_by_text("14.50").wait_for()
    assert "KAFKA_TOPIC" in panel.inner_text()


def test_a_query_is_paused_resumed_and_terminated(flow: Page, server: ServerThread) -> None:
    run(server.url, "CREATE STREAM small AS SELECT * FROM rides WHERE fare <= 10;")
    query(flow, "SMALL").click()
    panel = flow.get_by_role("complementary")
    panel.get_by_text("RUNNING").wait_for()
    panel.get_by_role("button", name="Pause").click()
    panel.get_by_text("PAUSED").wait_for()
    panel.get_by_role("button", name="Resume").click()
    panel.get_by_text("RUNNING").wait_for()
    panel.get_by_role("button", name="Terminate").click()
    flow.get_by_role("dialog").get_by_role("button", name="Terminate").click()
    query(flow, "SMALL").wait_for(state="detached")
    run(server.url, "DROP STREAM small DELETE TOPIC;")


def test_a_query_is_rewound(flow: Page, server: ServerThread) -> None:
    """From a time of which there are no records it is refused; from the beginning all rows come again."""
    run(server.url, "CREATE STREAM anew AS SELECT city, id FROM rides;")
    assert until(lambda: count(server.url, "anew") == 5)
    query(flow, "ANEW").click()
    panel = flow.get_by_role("complementary")
    panel.get_by_text("RUNNING").wait_for()
    panel.get_by_role("button", name="Rewind …").click()
    dialog = flow.get_by_role("dialog")
    dialog.get_by_label("From a time, tables from their beginning").check()
    dialog.get_by_role("textbox", name="Time, Asia/Tokyo").fill("2099-05-01T00:00:00")
    dialog.get_by_role("button", name="Rewind", exact=True).click()
    panel.get_by_text("has read no record of 2099-").wait_for()
    panel.get_by_role("button", name="Rewind …").click()
    dialog.get_by_role("button", name="Rewind", exact=True).click()
    panel.get_by_role("progressbar", name="Rewound").wait_for()
    assert until(lambda: count(server.url, "anew") == 10)
    panel.get_by_role("progressbar", name="Rewound").wait_for(state="detached")
    run(server.url, "DROP STREAM anew DELETE TOPIC;")


def test_drop_tells_what_goes_with_it(flow: Page, server: ServerThread) -> None:
    run(server.url, "CREATE STREAM a AS SELECT * FROM rides; CREATE STREAM b AS SELECT * FROM a;")
    node(flow, "stream B").wait_for()
    node(flow, "stream A").click()
    flow.get_by_role("complementary").get_by_role("button", name="Drop").click()
    dialog = flow.get_by_role("dialog")
    told = dialog.get_by_role("listitem").all_inner_texts()
    assert sorted(t.rpartition("_")[0] or t for t in told) == ["B", "CSAS_A", "CSAS_B"]
    dialog.get_by_label("Delete the topics of all these, with all records").check()
    dialog.get_by_role("button", name="Drop", exact=True).click()
    node(flow, "stream A").wait_for(state="detached")
    flow.get_by_role("complementary").wait_for(state="detached")
    assert until(lambda: "B" not in str(run(server.url, "SHOW STREAMS;")).split("'"))


def test_figures_go_on_while_one_looks(flow: Page, server: ServerThread) -> None:
    query(flow, "LARGE").click()
    panel = flow.get_by_role("complementary")
    panel.get_by_text("RUNNING").wait_for()
    run(server.url, "".join(f"INSERT INTO rides VALUES ('Oslo', {n}, 20);" for n in range(20)))
    flow.locator("path.flows").first.wait_for(state="attached")  # a straight line has no height


def test_what_only_leads_to_a_node_is_folded_and_stays_so(flow: Page) -> None:
    node(flow, "stream LARGE").click()
    panel = flow.get_by_role("complementary", name="stream LARGE")
    panel.get_by_role("button", name="Fold what only leads to it (2)").click()
    node(flow, "stream RIDES").wait_for(state="detached")
    assert names(flow) == {"stream LARGE", "query CTAS_FARES", "table FARES"}
    flow.reload()
    unfold = node(flow, "Unfold 2 before LARGE")
    unfold.focus()
    flow.keyboard.press("Enter")
    node(flow, "stream RIDES").wait_for()
    assert names(flow) == SOURCES
    flow.get_by_role("button", name="Unfold all").wait_for(state="detached")


def test_what_one_looks_for_is_not_hidden(flow: Page) -> None:
    node(flow, "stream LARGE").click()
    flow.get_by_role("button", name="Fold what only comes from it (2)").click()
    node(flow, "table FARES").wait_for(state="detached")
    flow.get_by_role("searchbox", name="Search the graph").fill("fares")
    flow.get_by_text("2 found").wait_for()
    flow.keyboard.press("Enter")
    node(flow, "table FARES").wait_for()
    flow.get_by_role("button", name="Close").click()
    node(flow, "table FARES").wait_for(state="detached")
    flow.get_by_role("button", name="Unfold all (2 hidden)").click()
    node(flow, "table FARES").wait_for()


def test_nodes_with_a_text_in_their_names_are_drawn_as_one(flow: Page) -> None:
    flow.get_by_role("searchbox", name="Search the graph").fill("fares")
    flow.get_by_role("button", name="Draw them as one").click()
    group = node(flow, "group fares, 2 nodes")
    group.wait_for()
    assert names(flow) == {"stream RIDES", "query CSAS_LARGE", "stream LARGE", "group fares"}
    panel = flow.get_by_role("complementary", name="group fares")
    assert [t.rpartition("_")[0] or t for t in panel.get_by_role("link").all_inner_texts()] == ["FARES", "CTAS_FARES"]
    panel.get_by_role("button", name="Fold what only leads to it (3)").click()
    node(flow, "stream RIDES").wait_for(state="detached")
    assert names(flow) == {"group fares"}
    flow.get_by_role("button", name="Unfold all").click()
    node(flow, "table FARES").wait_for()
    assert names(flow) == SOURCES


def change(page: Page, text: str) -> Locator:
    """Puts another statement into the dialog that replaces one."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Statements").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    return dialog


def test_a_statement_is_replaced(flow: Page, server: ServerThread) -> None:
    run(server.url, "CREATE STREAM cheap AS SELECT * FROM rides WHERE fare < 20;")
    query(flow, "CHEAP").click()
    flow.get_by_role("complementary").get_by_role("button", name="Replace").click()
    dialog = flow.get_by_role("dialog", name="Replace CHEAP")
    text = dialog.get_by_role("textbox", name="Statements")
    assert text.inner_text() == "CREATE OR REPLACE STREAM cheap AS SELECT * FROM rides WHERE fare < 20;"
    dialog.get_by_text("Nothing to do").wait_for()
    done = dialog.get_by_role("button", name="Replace", exact=True)
    assert done.is_disabled()
    change(flow, "CREATE OR REPLACE STREAM cheap AS SELECT * FROM rides WHERE far < 30;")
    dialog.get_by_role("alert").filter(has_text="FAR").first.wait_for()
    assert done.is_disabled()
    change(flow, "CREATE OR REPLACE STREAM cheap AS SELECT * FROM rides WHERE fare < 30;")
    dialog.get_by_role("article", name="replace CHEAP").get_by_text("< 30").wait_for()
    assert "< 30" not in str(run(server.url, "SHOW QUERIES;"))
    done.click()
    dialog.get_by_text("Done:").wait_for()
    assert "< 30" in str(run(server.url, "SHOW QUERIES;"))
    dialog.get_by_role("button", name="Close").last.click()
    flow.get_by_role("complementary").locator("pre").get_by_text("< 30").wait_for()
    run(server.url, "DROP STREAM cheap DELETE TOPIC;")


def test_a_replacement_says_that_state_is_lost(flow: Page, server: ServerThread) -> None:
    run(server.url, "CREATE TABLE sums AS SELECT city, SUM(fare) AS s FROM rides GROUP BY city;")
    node(flow, "table SUMS").click()
    flow.get_by_role("complementary").get_by_role("button", name="Replace").click()
    dialog = change(flow, "CREATE TABLE sums AS SELECT city, COUNT(*) AS s FROM rides GROUP BY city;")
    dialog.get_by_role("article", name="remake SUMS").get_by_text("loses its state").wait_for()
    done = dialog.get_by_role("button", name="Replace", exact=True)
    assert done.is_disabled()
    dialog.get_by_label("What these queries have counted and joined so far may be lost").check()
    done.click()
    dialog.get_by_text("Done:").wait_for()
    assert "COUNT" in str(run(server.url, "SHOW QUERIES;"))
    flow.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    run(server.url, "DROP TABLE sums DELETE TOPIC;")


def test_a_dialog_gives_the_focus_back(flow: Page) -> None:
    node(flow, "stream LARGE").focus()
    flow.keyboard.press("Enter")
    drop = flow.get_by_role("complementary").get_by_role("button", name="Drop")
    for leaves in ("Escape", "Cancel"):
        drop.focus()
        flow.keyboard.press("Enter")
        dialog = flow.get_by_role("dialog")
        dialog.wait_for()
        if leaves == "Escape":
            flow.keyboard.press("Escape")
        else:
            dialog.get_by_role("button", name=leaves).click()
        dialog.wait_for(state="detached")
        assert drop.evaluate("button => button === document.activeElement"), leaves
