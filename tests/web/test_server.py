"""Who may come in, who may do what, and what was decided: for administrators, on the page of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.run import ServerThread
from tests.support.real_server import real_server
from tests.support.waiting import until
from tests.web.shop import RIDES, run
from tests.web.test_login import ADMIN, READER, log_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.extended("a browser")]

ROLES = "CREATE ROLE payments; GRANT SELECT, INSERT ON ALL LIKE 'pay_%' TO payments; CREATE ROLE idle;"


@pytest.fixture(scope="module")
def server(
    browser: object, spark: object, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    """A server that asks for a login, and writes down what it decides."""
    folder = tmp_path_factory.mktemp("web")
    add_user(folder / "users", *ADMIN, frozenset({"admin"}))
    add_user(folder / "users", *READER, frozenset({"reader", "payments"}))
    create_token(folder / "tokens", "loader", frozenset({"writer"}), 0)
    properties = {
        "ksqlpy.auth.users.file": str(folder / "users"),
        "ksqlpy.auth.tokens.file": str(folder / "tokens"),
        "ksqlpy.audit.file": str(folder / "audit.log"),
    }
    with real_server(broker, folder, f"web_{folder.name}", properties) as running:
        run(running.url, RIDES + ROLES, ADMIN)
        yield running


def rows(page: Page, table: str) -> list[list[str]]:
    found = page.get_by_role("table", name=table, exact=True).locator("tbody tr")
    found.first.wait_for()
    return [row.locator("td").all_inner_texts() for row in found.all()]


def test_users_tokens_and_grants(opened: Callable[..., Page]) -> None:
    page = opened("#/server")
    log_in(page, *ADMIN)
    users = {row[0]: row for row in rows(page, "users")}
    assert users.keys() == {"ann", "loader", "root"}
    assert users["ann"][1:3] == ["payments, reader", "password"]
    assert users["loader"][1] == "writer" and users["loader"][2].startswith("token ")
    assert users["loader"][4:] == ["never", "never"]  # expires, was used
    grants = rows(page, "grants")
    assert ["PAYMENTS", "SELECT, INSERT", "ALL LIKE 'pay_%'", ""] in grants
    assert ["IDLE", "none", "", ""] in grants
    assert ["READER", "SELECT", "ALL", "built in"] in grants


def test_what_was_decided(opened: Callable[..., Page], server: ServerThread) -> None:
    body = {"ksql": "DROP STREAM rides;"}
    refused = httpx.post(f"{server.url}/ksql", json=body, auth=READER, trust_env=False, timeout=60)
    assert refused.status_code == 403
    page = opened("#/server")
    log_in(page, *ADMIN)
    log = page.get_by_role("table", name="audit log")
    line = log.get_by_role("row").filter(has_text="DROP STREAM rides")

    def seen() -> bool:
        page.get_by_role("region", name="Audit log").get_by_role("button", name="Refresh").click()
        log.wait_for()
        return line.count() > 0

    assert until(seen)  # lines are written behind the answer
    assert line.get_by_role("cell").nth(1).inner_text() == "ann"
    assert line.get_by_role("cell").nth(2).inner_text() == "refused: missing-right"
    made = log.get_by_role("row").filter(has_text="CREATE ROLE payments")
    assert made.get_by_role("cell").nth(2).inner_text() == "allowed"
    page.get_by_label("only what was refused or has failed").check()
    made.wait_for(state="detached")
    assert line.count() == 1


def test_others_see_their_own_rights_only(opened: Callable[..., Page], server: ServerThread) -> None:
    page = opened("#/server")
    log_in(page, *READER)
    page.get_by_role("heading", name="Your rights").wait_for()
    page.get_by_role("heading", name="Properties").wait_for()
    assert page.get_by_role("heading", name="Users and grants").count() == 0
    assert page.get_by_role("heading", name="Audit log").count() == 0
    for path in ("/logins", "/audit"):  # the server refuses it all the same
        answer = httpx.get(server.url + path, auth=READER, trust_env=False, timeout=60)
        assert (answer.status_code, answer.json()["ksqlpy"]["code"]) == (403, "missing-right")


def test_what_may_not_be_replaced_has_no_button(opened: Callable[..., Page]) -> None:
    page = opened("#/flow/source:LARGE")
    log_in(page, *READER)
    panel = page.get_by_role("complementary", name="stream LARGE")
    panel.get_by_text("CREATE STREAM large").first.wait_for()
    for word in ("Replace", "Drop"):
        assert panel.get_by_role("button", name=word).count() == 0
    panel.get_by_role("button", name="Fold").first.wait_for()
