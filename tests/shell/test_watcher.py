"""What the watcher learns from a server, and the line that says what is waited for."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator

import pytest

from ksqlpy.server.run import ServerThread
from ksqlpy.shell.progress import Progress
from ksqlpy.shell.toolbar import toolbar
from ksqlpy.shell.watcher import Watcher
from tests.shell.catalog_engine import CAUGHT_UP, CatalogEngine
from tests.support.waiting import until


@pytest.fixture
def catalog() -> CatalogEngine:
    return CatalogEngine()


@pytest.fixture
def watcher(catalog: CatalogEngine) -> Iterator[Watcher]:
    with ServerThread(catalog) as server:
        watcher = Watcher(server.url)
        watcher.start()
        yield watcher
        watcher.stop()


def columns(watcher: Watcher, source: str) -> list[str]:
    found = watcher.names.sources.get(source)
    return [c.name for c in (found.columns if found else None) or ()]


def test_names(watcher: Watcher, catalog: CatalogEngine) -> None:
    assert until(lambda: columns(watcher, "RIDES") == ["ID", "CITY", "FARE"], every=0.01), "columns"
    assert watcher.state == "ready" and watcher.names.topics == ("rides", "zones")
    assert until(lambda: columns(watcher, "ZONES"), every=0.01), "columns of the table"
    zones = watcher.names.sources["ZONES"].columns or ()
    assert [f.name for f in zones[2].fields] == ["LAT", "LON"]
    catalog.memory.execute("ALTER STREAM rides ADD COLUMN tip INT;")
    watcher.refresh(source="RIDES")
    assert until(lambda: columns(watcher, "RIDES")[-1:] == ["TIP"], every=0.01), "the new column"
    catalog.memory.execute("DROP TABLE zones;")
    watcher.refresh()
    assert until(lambda: "ZONES" not in watcher.names.sources, every=0.01), "the dropped table"


def test_backlog(watcher: Watcher, catalog: CatalogEngine) -> None:
    catalog.memory.execute("CREATE STREAM far AS SELECT * FROM rides;", {"auto.offset.reset": "earliest"})
    catalog.figures = {"state": "RUNNING", "live": True, "rowsIn": 1, "lag": 3}
    watcher.refresh("CSAS_FAR_0")
    assert until(lambda: watcher.backlog == {"CSAS_FAR_0": "1 of 4 rows, 25 %"}, every=0.01), "the backlog"
    catalog.figures = CAUGHT_UP
    assert until(lambda: not watcher.backlog and watcher.queries == 1, every=0.01), "the end of the backlog"


def test_queries_that_have_failed(watcher: Watcher, catalog: CatalogEngine) -> None:
    catalog.memory.execute("CREATE STREAM far AS SELECT * FROM rides; CREATE STREAM near AS SELECT * FROM rides;")
    catalog.states = {"CSAS_FAR_0": "RETRYING"}
    watcher.refresh()
    assert until(lambda: watcher.queries == 1 and watcher.failed == {"RETRYING": 1}, every=0.01), "one fails"
    catalog.states["CSAS_NEAR_1"] = "ERROR"
    watcher.refresh()
    assert until(lambda: watcher.failed == {"ERROR": 1, "RETRYING": 1} and not watcher.queries, every=0.01), "both"


def test_another_server(watcher: Watcher) -> None:
    assert until(lambda: watcher.names.sources, every=0.01), "names"
    with ServerThread(CatalogEngine("CREATE TYPE a AS INT;")) as other:
        watcher.move(other.url)
        assert until(lambda: watcher.names.types == {"A": "INTEGER"}, every=0.01), "names of the other server"
        assert not watcher.names.sources
    assert until(lambda: watcher.state == "away", every=0.01), "the end of the server"


def test_server_that_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.shell.watcher.PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        watcher = Watcher(f"http://127.0.0.1:{listener.getsockname()[1]}")
        watcher.start()
        assert until(lambda: watcher.state == "slow", every=0.01), "that it is slow"
        watcher.stop()


@pytest.mark.parametrize("room", [20, 40, 60, 100, 200])
def test_toolbar_fits(room: int) -> None:
    fragments = toolbar("http://a.long.name:8088", "ready", 3, {}, "json", {"CTAS_X_1": "4 of 10 rows, 40 %"}, room)
    text = "".join(t for _, t in fragments)
    assert len(text) <= room
    assert "ready" in text
    assert ("40 %" in text and "output JSON" in text) is (room >= 100)


@pytest.mark.parametrize(
    ("failed", "shown"),
    [
        ({}, "  ready  1 query runs"),
        ({"RETRYING": 1}, "  ready  1 RETRYING  1 query runs"),
        ({"ERROR": 2, "RETRYING": 1}, "  ready  2 ERROR  1 RETRYING  1 query runs"),
    ],
)
def test_toolbar_tells_what_has_failed(failed: dict[str, int], shown: str) -> None:
    fragments = toolbar("http://a:8088", "ready", 1, failed, "table", {}, 80)
    assert "".join(t for _, t in fragments).endswith(shown)
    assert {t for style, t in fragments if style.endswith(".away")} == {f"{n} {state}" for state, n in failed.items()}


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    progress = Progress(screen)
    with progress.doing("waiting\x1b for it", patience=0):
        assert until(lambda: "waiting\\x1b for it (0 s)" in screen.getvalue(), every=0.01), "the line"
        with progress.hidden():
            assert screen.getvalue().endswith("\r\x1b[2K")
    assert screen.getvalue().endswith("\r\x1b[2K")
    assert not [t for t in threading.enumerate() if t.name == "progress"]


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_nothing_is_shown_where_it_would_stay(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    stream = Screen() if term == "dumb" else io.StringIO()
    with Progress(stream).doing("waiting", patience=0):
        assert not [t for t in threading.enumerate() if t.name == "progress"]
    assert stream.getvalue() == ""
