"""docs/rest-editors.md: its examples, as a reader pastes them, and the keys of its answers, without Kafka and Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.deadletters import Letter
from ksqlpy.server.administration import _logins
from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.run import ServerThread
from ksqlpy.server.samples import QUERY_SERIES, SERVER_SERIES
from tests.access.engine import AccessEngine
from tests.docs.pages import ROOT, pieces
from tests.server.test_figures import engine_tells, query
from tests.server.test_rest_page import examples, run
from tests.support.letters import lie_there

PAGE = "docs/rest-editors.md"

START = """
CREATE STREAM rides (city STRING KEY, id INT, fare DECIMAL(6, 2))
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE fares AS SELECT city, SUM(fare) AS total FROM rides GROUP BY city;
"""

QUERY = "CTAS_FARES_0"
"""The id that it gets here; the page has a likelier one."""

LETTER = Letter("0-12", QUERY, "rides", 0, 7, 1000, "no JSON", b"Oslo", b"{", (("h", b"x"),), topic_id="T")


@pytest.fixture(scope="module")
def server() -> Iterator[ServerThread]:
    engine: Any = AccessEngine(START)
    engine.metrics = lambda: engine_tells(query(QUERY))
    with pytest.MonkeyPatch.context() as patch:
        lie_there(patch, [LETTER])
        with ServerThread(engine) as running:
            yield running


def shown(heading: str) -> list[Any]:
    """The blocks of JSON below a heading."""
    text = [p.text for p in pieces(PAGE) if p.kind == "json"]
    return [json.loads(t.replace("CTAS_FARES_1", QUERY)) for t in text if heading in t]


def answer(server: ServerThread, method: str, path: str, **more: Any) -> Any:
    got = httpx.request(method, server.url + path, trust_env=False, timeout=30, **more)
    assert got.status_code == 200, got.text
    return json.loads(got.text.splitlines()[0])


def test_its_examples(server: ServerThread) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    assert len(examples(PAGE)) >= 5
    for command, printed in examples(PAGE):
        run(command, printed, server.url)


def test_all_its_json_is_json() -> None:
    assert len([json.loads(p.text) for p in pieces(PAGE) if p.kind == "json"]) > 6


def test_the_graph_has_its_keys(server: ServerThread) -> None:
    [page] = shown('"edges"')
    found = answer(server, "GET", "/graph")
    assert found.keys() == page.keys()
    assert {*map(str, found["edges"])} == {*map(str, page["edges"])}
    there = {node["id"]: node for node in found["nodes"]}
    assert there.keys() == {node["id"] for node in page["nodes"]}
    for node in page["nodes"]:
        assert there[node["id"]].keys() == node.keys()
        same = ("kind", "name", "topic", "partitions", "keyFormat", "valueFormat", "sink", "sources", "query", "window")
        assert {k: v for k, v in node.items() if k in same} == {k: there[node["id"]][k] for k in node if k in same}


def test_the_figures_have_their_keys(server: ServerThread) -> None:
    [page] = shown('"full"')
    found = answer(server, "GET", "/figures?limit=1")
    assert found.keys() == page.keys() and found["server"].keys() == page["server"].keys()
    assert found["queries"][QUERY].keys() == page["queries"][QUERY].keys()
    assert isinstance(found["graph"], str)
    [hour] = shown('"times"')
    kept = answer(server, "GET", f"/figures/history?query={QUERY}")
    assert kept.keys() == hour.keys() and kept["series"].keys() == hour["series"].keys() == {*QUERY_SERIES}
    text = " ".join(p for p in (ROOT / PAGE).read_text(encoding="utf-8").split())
    assert f"Series of the server: {', '.join(f'`{name}`' for name in SERVER_SERIES)}." in text


def test_who_asks_has_its_keys(server: ServerThread) -> None:
    [page] = shown('"loginRequired"')
    found = answer(server, "GET", "/whoami")
    assert found.keys() == page.keys() and found["may"].keys() == page["may"].keys()


def test_logins_have_their_keys(tmp_path: Path) -> None:
    [page] = shown('"tokens"')
    add_user(tmp_path / "users", "ann", "correct horse", frozenset({"reader", "payments"}))
    create_token(tmp_path / "tokens", "loader", frozenset({"writer"}), 0)
    files = {"ksqlpy.auth.users.file": str(tmp_path / "users"), "ksqlpy.auth.tokens.file": str(tmp_path / "tokens")}
    told = _logins(Config.of(files))
    assert told.keys() == page.keys() and told["users"] == page["users"]
    assert told["tokens"][0].keys() == page["tokens"][0].keys()


def test_dead_letters_have_their_keys(server: ServerThread) -> None:
    [group], [letter] = shown('"total"'), shown('"offset"')
    counted = answer(server, "POST", "/deadletters/summary", json={})
    assert counted.keys() == group.keys() and counted["groups"][0].keys() == group["groups"][0].keys()
    [found] = answer(server, "POST", "/deadletters", json={"reason": "no JSON", "id": "0-12"})["deadLetters"]
    assert found == {**letter, "timestamp": 1000}
    for other in ({"reason": "another"}, {"id": "0-1"}):
        assert answer(server, "POST", "/deadletters", json=other)["deadLetters"] == []
