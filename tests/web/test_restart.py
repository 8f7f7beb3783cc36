"""A server that ends and comes back while its page is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.harness.server import Server, free_port
from tests.web.editor import cells, results
from tests.web.editor import run as write_and_run
from tests.web.shop import make_rides, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


RIDES = """
CREATE STREAM rides (city STRING KEY, id BIGINT)
  WITH (KAFKA_TOPIC = 'restarted', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
INSERT INTO rides VALUES ('Oslo', 1);
INSERT INTO rides VALUES ('Oslo', 2);
"""

EARLIEST = "SET 'auto.offset.reset' = 'earliest'; "


@pytest.fixture
def process(browser: Browser, broker: EmbeddedKafka, tmp_path: Path) -> Iterator[Server]:
    """A server as a process of its own, which is stopped and started on the same port."""
    settings = {"ksql.service.id": "web_restart", "ksqlpy.warm.up": "false", "ksqlpy.spark.memory": "700m"}
    server = Server(KafkaConnection(broker.bootstrap), tmp_path, settings)
    server.start()
    yield server
    server.close()


def test_rows_stay_and_go_on_when_the_server_restarts(opened: Callable[..., Page], process: Server) -> None:
    run(process.url, RIDES)
    plain = opened(url=process.url)
    write_and_run(plain, EARLIEST + "SELECT city, id FROM rides EMIT CHANGES;")
    plain.get_by_test_id("count").get_by_text("2 rows").wait_for()
    counting = opened(url=process.url)
    write_and_run(counting, EARLIEST + "SELECT city, COUNT(*) AS n FROM rides GROUP BY city EMIT CHANGES;")
    counting.get_by_role("gridcell", name="2", exact=True).wait_for()

    process.stop()
    plain.get_by_text("waiting for the server").wait_for()
    counting.get_by_text("the query would begin anew").wait_for()
    assert cells(plain) == [["Oslo", "1"], ["Oslo", "2"]]
    assert counting.get_by_role("gridcell", name="2", exact=True).count() == 1
    process.start()

    # A query whose rows are of one record each goes on by itself, with the next record.
    plain.get_by_text("and the query went on at").wait_for()
    run(process.url, "INSERT INTO rides VALUES ('Bergen', 3);")
    plain.get_by_text("3 rows").wait_for()
    assert cells(plain) == [["Oslo", "1"], ["Oslo", "2"], ["Bergen", "3"]]
    assert [row.get_attribute("title") is not None for row in plain.locator(".row").all()] == [False, False, True]

    # One that counts is run again by a person, below the rows that are there.
    counting.get_by_role("button", name="Run again").click()
    counting.get_by_role("gridcell", name="Bergen").wait_for()
    assert counting.get_by_role("grid", name="Rows").count() == 2
    assert counting.get_by_role("grid", name="Rows").first.get_by_role("gridcell", name="2", exact=True).count() == 1

    # A kill is no other thing.
    process.kill()
    plain.get_by_text("waiting for the server").wait_for()
    process.start()
    plain.get_by_text("running", exact=True).wait_for()
    run(process.url, "INSERT INTO rides VALUES ('Tromsø', 4);")
    plain.get_by_text("4 rows").wait_for()
    assert cells(plain)[-1] == ["Tromsø", "4"]


def test_a_source_that_is_gone_meanwhile_is_told(opened: Callable[..., Page], server: ServerThread) -> None:
    engine, port = server.backend.engine, free_port()
    run(server.url, "CREATE STREAM brief (x INT) WITH (KAFKA_TOPIC = 'brief', VALUE_FORMAT = 'JSON', PARTITIONS = 1);")
    with ServerThread(engine, port=port) as before:
        page = opened(url=before.url)
        write_and_run(page, "SELECT x FROM brief EMIT CHANGES;")
        page.get_by_text("running", exact=True).wait_for()
        run(server.url, "INSERT INTO brief VALUES (7);")
        page.get_by_text("1 row").wait_for()
    page.get_by_text("waiting for the server").wait_for()
    run(server.url, "DROP STREAM brief;")
    with ServerThread(engine, port=port):
        results(page).get_by_role("alert").get_by_text("BRIEF").first.wait_for()
        assert cells(page) == [["7"]]
        page.get_by_role("button", name="Run again").wait_for()
