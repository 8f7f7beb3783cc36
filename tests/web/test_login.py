"""A server that asks for a login, seen from the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.auth.users import add_user, remove_user
from ksqlpy.server.run import ServerThread
from tests.support.real_server import real_server
from tests.web.editor import results
from tests.web.editor import run as write_and_run
from tests.web.shop import RIDES, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.extended("a browser")]

ADMIN = ("root", "correct horse")
READER = ("ann", "battery staple")
GUEST = ("bob", "paper clips 1")


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users"
    add_user(file, *ADMIN, frozenset({"admin"}))
    add_user(file, *READER, frozenset({"reader"}))
    add_user(file, *GUEST, frozenset({"reader"}))
    return file


@pytest.fixture(scope="module")
def server(
    browser: Browser, spark: object, broker: EmbeddedKafka, users: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    folder = tmp_path_factory.mktemp("web")
    with real_server(broker, folder, f"web_{folder.name}", {"ksqlpy.auth.users.file": str(users)}) as running:
        run(running.url, RIDES, ADMIN)
        yield running


def log_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_wrong_password_and_the_right_one(page: Page) -> None:
    log_in(page, "root", "wrong horse!")
    page.get_by_role("alert").wait_for()
    log_in(page, *ADMIN)
    page.get_by_role("navigation").get_by_text("root").wait_for()
    write_and_run(page, "SHOW STREAMS;")
    results(page).get_by_text("RIDES").first.wait_for()
    page.reload()
    page.get_by_role("navigation").get_by_text("root").wait_for()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("form", name="Log in").wait_for()


def test_what_a_role_refuses_is_not_there(opened: Callable[..., Page]) -> None:
    page = opened("#/sources/RIDES")
    log_in(page, *READER)
    page.get_by_role("heading", name="RIDES").wait_for()
    page.get_by_role("button", name="Query").wait_for()
    assert page.get_by_role("button", name="Drop").count() == 0
    page.get_by_role("link", name="Queries").first.click()
    page.get_by_role("link", name="CTAS_FARES").first.click()
    page.get_by_role("heading", name="CTAS_FARES").wait_for()
    for word in ("Pause", "Terminate"):
        assert page.get_by_role("button", name=word).count() == 0
    page.get_by_role("link", name="Editor").click()
    write_and_run(page, "DROP STREAM rides;")
    results(page).get_by_role("alert").wait_for()  # the server refuses it all the same


def test_who_logs_in_again_finds_his_rows(page: Page, users: Path) -> None:
    add_user(users, "eve", GUEST[1], frozenset({"reader"}))
    log_in(page, "eve", GUEST[1])
    page.get_by_role("navigation").get_by_text("eve").wait_for()
    write_and_run(page, "SHOW STREAMS;")
    results(page).get_by_text("RIDES").first.wait_for()
    add_user(users, "eve", "another word 2", frozenset({"reader"}))
    page.get_by_role("form", name="Log in").wait_for()
    assert not results(page).is_visible(), "it is hidden from who stands there"
    page.get_by_label("Password", exact=True).fill("another word 2")  # the name is there
    page.get_by_role("button", name="Log in").click()
    results(page).get_by_text("RIDES").first.wait_for()
    page.get_by_role("link", name="Queries").click()
    page.get_by_role("row").filter(has_text="CTAS_FARES").get_by_text("RUNNING").wait_for()  # figures come again


def test_a_login_that_ends_is_asked_for_again(page: Page, users: Path) -> None:
    log_in(page, *GUEST)
    page.get_by_role("navigation").get_by_text("bob").wait_for()
    write_and_run(page, "SHOW STREAMS;")
    results(page).get_by_text("RIDES").first.wait_for()
    remove_user(users, GUEST[0])
    page.get_by_role("form", name="Log in").wait_for()
    log_in(page, *ADMIN)
    # The text is still there.
    page.get_by_role("textbox", name="Statements").get_by_text("SHOW STREAMS;").wait_for()
