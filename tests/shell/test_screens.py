"""The screens in ``examples/shell/README.md`` are what the shell shows: each is recreated in a real terminal.

A screen stands between ``<!-- screen: NAME -->`` and ``<!-- end -->``. Set KSQLPY_REWRITE to rewrite them, and read
the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ksqlpy.server.run import ServerThread
from tests.shell.catalog_engine import CAUGHT_UP, RIDES, CatalogEngine
from tests.shell.terminal import CTRL_C, ENTER, Terminal

FILE = Path(__file__).parents[2] / "examples" / "shell" / "README.md"
BLOCK = re.compile(r"(<!-- screen: (\w+) -->\n\n)(.*?)(\n\n<!-- end -->)", re.DOTALL)
DOCUMENTED = {name: body for _, name, body, _ in BLOCK.findall(FILE.read_text(encoding="utf-8"))}

CREATE = """CREATE STREAM rides (id BIGINT KEY, city STRING, fare DECIMAL(10, 2))
WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);"""
ROWS = [[1, "Oslo", Decimal("12.50")], [2, "Bergen", Decimal("40.00")], [3, "Oslo", Decimal("7.25")]]


def first(t: Terminal, engine: CatalogEngine) -> None:
    for line in CREATE.splitlines():
        t.send(line + ENTER)
    t.wait("Stream created")
    t.prompt()
    t.type("describe rides;")
    t.wait("DECIMAL(10, 2)")


def completion(t: Terminal, engine: CatalogEngine) -> None:
    t.offered("select id, f", "DECIMAL(10, 2)")
    t.send(CTRL_C + "clear" + ENTER)  # with an attempt more or fewer
    t.prompt()
    t.offered("select id, f", "DECIMAL(10, 2)")


def mistake(t: Terminal, engine: CatalogEngine) -> None:
    t.type("select id, fair from rides emit changes;")
    t.wait("= hint")


def rows(t: Terminal, engine: CatalogEngine) -> None:
    t.type("select * from rides emit changes;")
    t.wait("3 rows, Ctrl-C ends")
    t.send(CTRL_C)
    t.wait("is closed")


def backlog(t: Terminal, engine: CatalogEngine) -> None:
    engine.figures = {"state": "RUNNING", "live": True, "lag": 5500, "rowsIn": 4500}
    t.type("create table per_city as select city, count(*) as rides from rides group by city;")
    t.wait("45 %")


def csv(t: Terminal, engine: CatalogEngine) -> None:
    engine.figures = CAUGHT_UP
    t.wait(lambda s: "45 %" not in s, "the end of the backlog")
    t.type("output CSV")
    t.prompt()
    t.type("select * from rides emit changes limit 2;")
    t.wait("has ended")
    t.prompt()
    t.type("output TABULAR")


def statement_help(t: Terminal, engine: CatalogEngine) -> None:
    t.type("help insert values")
    t.wait("Example:")


def commands(t: Terminal, engine: CatalogEngine) -> None:
    t.type("help")
    t.wait("\\refresh ")


def narrow(t: Terminal, engine: CatalogEngine) -> None:
    t.type("show streams;")
    t.wait("Windowed")


SCREENS: dict[str, Callable[[Terminal, CatalogEngine], None]] = {
    f.__name__: f for f in (first, completion, mistake, rows, backlog, csv, statement_help, commands, narrow)
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """All screens, by name; made in one session, in their order."""
    engine = CatalogEngine(start="")
    engine.played["rides"] = (RIDES, ROWS)
    screens = {}
    home = tmp_path_factory.mktemp("home")
    with ServerThread(engine) as server:
        with Terminal(["shell", server.url], home, 92, 68) as t:
            for name, make in SCREENS.items():
                if name != "narrow":
                    t.wait("  ready")
                    t.send("clear" + ENTER)
                    t.wait(lambda s: s.startswith("ksql>") and "clear" not in s, "an empty screen")
                    make(t, engine)
                    if name != "completion":
                        t.prompt()
                    # The line at the bottom comes last, once the terminal has said where its cursor is.
                    t.wait(lambda s: "  ready" in s.splitlines()[-1], "the toolbar")
                    screens[name] = shown(t, server.url)
                    t.send(CTRL_C)
        with Terminal(["shell", server.url], home, 40, 24) as t:
            t.wait("  ready")
            narrow(t, engine)
            t.prompt()
            t.wait(lambda s: "  ready" in s.splitlines()[-1], "the toolbar")
            screens["narrow"] = shown(t, server.url)
        with Terminal(["shell", server.url], home, 92, 16) as t:
            t.wait("  ready")
            server.__exit__(None, None, None)
            t.wait("trying again")
            t.type("show streams;")
            t.wait("= hint")
            t.prompt()
            t.wait(lambda s: "trying again" in s.splitlines()[-1], "the toolbar")
            screens["away"] = shown(t, server.url)
    yield screens


def shown(terminal: Terminal, url: str) -> str:
    """A screen as the document has it: indented, of a row of empty lines one, and the usual port."""
    text = terminal.text().replace(url, "http://127.0.0.1:8088").replace(url.partition("://")[2], "127.0.0.1:8088")
    text = re.sub(r"\(\d+ s\)", "(2 s)", re.sub(r"\n{3,}", "\n\n", text))
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", [*SCREENS, "away"])
def test_screen_is_as_documented(made: dict[str, str], name: str) -> None:
    assert made[name] == DOCUMENTED[name]


def test_every_documented_screen_is_made(made: dict[str, str]) -> None:
    assert set(DOCUMENTED) == set(made)


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the screens")
def test_rewrite(made: dict[str, str]) -> None:
    text = FILE.read_text(encoding="utf-8")
    FILE.write_text(BLOCK.sub(lambda m: m[1] + made[m[2]] + m[4], text), encoding="utf-8")
