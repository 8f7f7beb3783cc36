"""Dead letters in the page: a record that cannot be read is corrected there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest
from confluent_kafka import Producer

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.support.waiting import enough, until
from tests.web.shop import letters, make_rides, run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]


@pytest.fixture(scope="module", autouse=True)
def broken(server: ServerThread, broker: EmbeddedKafka) -> None:
    """A record that is no JSON, and one that is no text at all."""
    make_rides(server.url)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("rides", b'{"ID": 7, "FARE": 12.50', key=b"Bergen")
    producer.produce("rides", b"\xff\x00", key=b"Voss")
    producer.flush(20)
    assert len(enough(lambda: letters(server.url), 2)) == 2


def open_letter(page: Page, offset: int) -> None:
    """Opens the letter about a record, whatever its reason."""
    reasons = page.get_by_role("table", name="dead letters").locator("tbody button")
    reasons.first.wait_for()
    for reason in reasons.all():
        reason.click()
        page.get_by_role("button", name="rides 0:").first.wait_for()
        if page.get_by_role("button", name=f"rides 0:{offset}").count():
            break
    page.get_by_role("button", name=f"rides 0:{offset}").click()


def test_from_the_reason_to_the_row(opened: Callable[..., Page], server: ServerThread) -> None:
    page = opened("#/queries")
    page.get_by_role("row").filter(has_text="CSAS_LARGE").get_by_role("link", name="2", exact=True).click()
    page.get_by_role("heading", name="Dead letters").wait_for()
    open_letter(page, 5)
    page.get_by_label("Value as Text").get_by_text('{"ID": 7, "FARE": 12.50').wait_for()
    page.get_by_role("button", name="Hex").last.click()
    page.get_by_label("Value as Hex").get_by_text("7b 22 49 44").wait_for()
    page.get_by_label("Corrected value").fill('{"ID": 7, "FARE": 12.50}')
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("status").get_by_text("1 record was written").wait_for()
    assert until(lambda: "Bergen" in str(rows(server.url)))
    assert [x["replayed"] for x in letters(server.url) if x["offset"] == 5] == [True]


def test_what_is_no_text_is_shown_in_hex(opened: Callable[..., Page]) -> None:
    page = opened("#/letters")
    open_letter(page, 6)
    page.get_by_label("Value as Hex").get_by_text("ff 00").wait_for()
    assert page.get_by_role("button", name="Text").last.is_disabled()


def test_what_comes_late_of_another_reason_is_left_out(opened: Callable[..., Page]) -> None:
    page = opened("#/letters")
    reasons = page.get_by_role("table", name="dead letters").locator("tbody button")
    reasons.first.wait_for()
    page.route("**/deadletters", lambda route: None, times=1)  # it is never answered
    reasons.nth(0).click()
    with page.expect_event("requestfailed") as left:
        reasons.nth(1).click()
    assert left.value.url.endswith("/deadletters")
    page.get_by_role("button", name="rides 0:").wait_for()
    assert page.get_by_role("button", name="rides 0:").count() == 1


def rows(url: str) -> object:
    body = {"sql": "SELECT * FROM fares;"}
    return httpx.post(f"{url}/query-stream", json=body, timeout=60, trust_env=False).text


def test_none_is_said(opened: Callable[..., Page], server: ServerThread) -> None:
    run(server.url, "SHOW STREAMS;")
    page = opened("#/letters/CTAS_NONE_1")
    page.get_by_text("There are none.").wait_for()


def test_a_letter_is_text_whatever_it_holds(
    opened: Callable[..., Page], server: ServerThread, broker: EmbeddedKafka
) -> None:
    evil = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    before = len(letters(server.url))
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("rides", evil.encode(), key=evil.encode(), headers=[(evil, evil.encode())])
    producer.flush(20)
    found = enough(lambda: letters(server.url), before + 1)
    page = opened("#/letters")
    open_letter(page, max(letter["offset"] for letter in found))
    letter = page.get_by_role("region", name="Letter")
    assert letter.get_by_label("Value as Text").inner_text() == evil
    assert letter.get_by_label("Key as Text").inner_text() == evil
    assert letter.get_by_text(f"{evil}: {evil}").count() == 1  # the header
    assert page.locator("img").count() == 0
    assert "run" not in page.title()
