"""The shell in a real terminal: keys in, the screen out."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ksqlpy.catalog import Column
from ksqlpy.server.run import ServerThread
from ksqlpy.types import BIGINT, STRING
from tests.shell.catalog_engine import CAUGHT_UP, CatalogEngine
from tests.shell.terminal import CTRL_C, CTRL_D, CTRL_R, DOWN, ENTER, ESCAPE, TAB, UP, Terminal
from tests.support.waiting import until

RIDES = [[1, "Oslo", 12.5], [2, "Bergen", 40.0], [3, "Oslo", 7.25]]


@pytest.fixture(scope="module")
def catalog() -> CatalogEngine:
    engine = CatalogEngine()
    engine.played["rides"] = (engine.played["rides"][0], RIDES)
    return engine


@pytest.fixture(scope="module")
def address(catalog: CatalogEngine) -> Iterator[str]:
    with ServerThread(catalog) as server:
        yield server.url


@pytest.fixture(scope="module")
def shell(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """One shell for the tests that leave it as it was."""
    with Terminal(["shell", address], tmp_path_factory.mktemp("home")) as terminal:
        terminal.wait("ready")
        yield terminal


@pytest.fixture
def at_prompt(shell: Terminal) -> Terminal:
    """That shell, with an empty screen and the prompt waiting."""
    shell.send(CTRL_C)
    shell.send("clear\r")
    shell.wait(lambda s: s.startswith("ksql>") and "clear" not in s, "an empty screen")
    shell.prompt()
    return shell


Start = Callable[..., Terminal]


@pytest.fixture
def start(address: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a shell of a test's own."""
    started: list[Terminal] = []

    def start(*arguments: str, **more: object) -> Terminal:
        terminal = Terminal(list(arguments) or ["shell", address], tmp_path, **more)  # type: ignore[arg-type]
        started.append(terminal)
        return terminal

    yield start
    for terminal in started:
        terminal.__exit__(None, None, None)


def test_statement_over_several_lines(at_prompt: Terminal, catalog: CatalogEngine) -> None:
    at_prompt.send("SHOW -- no; end" + ENTER)
    at_prompt.wait("    >")
    at_prompt.send("STREAMS" + ENTER)
    at_prompt.send(";" + ENTER)
    assert "RIDES" in at_prompt.wait("Windowed")
    listing = [f"SHOW {kind};" for kind in ("QUERIES", "TOPICS", "TYPES", "ROLES")]
    assert catalog.calls[-1][0] in ("SHOW -- no; end\nSTREAMS\n;", *listing)


def test_completion(at_prompt: Terminal) -> None:
    at_prompt.offered("SELECT ci", "STRING, RIDES")
    at_prompt.send(TAB)
    at_prompt.wait("SELECT city")
    at_prompt.send(" FROM rides WHERE fa")
    at_prompt.wait("DECIMAL(10, 2)")
    at_prompt.send(TAB + ENTER)  # takes the word, and ends nothing
    at_prompt.send(" > 1 EMIT CH")
    at_prompt.wait(lambda s: "CHANGES" in s, "the menu")
    at_prompt.send(TAB)
    screen = at_prompt.wait("WHERE fare > 1 EMIT CHANGES")
    assert "error" not in screen and screen.splitlines()[-1].startswith(" http")


def test_rows_and_ctrl_c(at_prompt: Terminal, catalog: CatalogEngine) -> None:
    at_prompt.type("SELECT * FROM rides EMIT CHANGES;")
    at_prompt.wait("Bergen")
    at_prompt.wait("3 rows, Ctrl-C ends the query")
    at_prompt.send(CTRL_C)
    screen = at_prompt.wait("is closed after 3 rows")
    assert re.search(r"query transient_RIDES_\d+ is closed after 3 rows", screen)
    assert "Ctrl-C ends" not in at_prompt.prompt()
    assert not catalog.pushes


def test_error_with_its_place(at_prompt: Terminal) -> None:
    at_prompt.type("SELECT town FROM rides EMIT CHANGES;")
    screen = at_prompt.wait("= hint")
    line = next(n for n, text in enumerate(screen.splitlines()) if "^^^^" in text)
    above, carets = screen.splitlines()[line - 1 : line + 1]
    assert above.index("town") == carets.index("^")
    assert b"\x1b[1;31merror[unknown-column]" in at_prompt.raw


def test_history_is_kept_and_searched(start: Start) -> None:
    first = start()
    first.prompt()
    first.type("SHOW TABLES;")
    first.wait("ZONES")
    first.type(" SHOW TYPES;")  # a blank before: not kept
    first.wait("no types")
    first.prompt()
    first.send(CTRL_D)
    assert first.ended() == 0
    second = start()
    second.prompt()
    second.send(CTRL_R + "tab")
    second.wait("SHOW TABLES;")
    second.send(ENTER + ENTER)  # takes what was found, and runs it
    second.wait("ZONES")
    second.prompt()
    second.type("history")
    screen = second.wait("   2  history")
    assert "   1  SHOW TABLES;" in screen and "TYPES" not in screen


def test_narrow_terminal_shows_rows_upright(start: Start, catalog: CatalogEngine) -> None:
    terminal = start(columns=40)
    terminal.prompt()
    terminal.type("SHOW STREAMS;")
    screen = terminal.wait("Windowed")
    assert "Name         | RIDES" in screen and "Value format | JSON" in screen
    terminal.type("SELECT id, city FROM rides WHERE city = 'Oslo' AND faer > 1 EMIT CHANGES;")
    screen = terminal.wait("^^^^")
    line = next(n for n, text in enumerate(screen.splitlines()) if "^^^^" in text)
    assert all(len(text) <= 40 for text in screen.splitlines())
    place = screen.splitlines()[line].index("^")
    assert screen.splitlines()[line - 1][place : place + 4] == "faer"


def test_wide_values(start: Start, catalog: CatalogEngine) -> None:
    wide = tuple(Column(f"C{n}", STRING) for n in range(5000))
    catalog.played["zones"] = (wide, [["x" * 1_000_000, "\x1b[2Jcleared\x07", *("v" for _ in range(4998))]])
    terminal = start(lines=60)
    terminal.prompt()
    terminal.type("SELECT * FROM zones EMIT CHANGES LIMIT 1;")
    terminal.wait("has ended: 1 row")
    assert b"C4999" in terminal.raw and b"(1,000,000 characters)" in terminal.raw
    assert b"\\x1b[2Jcleared\\x07" in terminal.raw


def test_output_spool_and_variables(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.prompt()
    terminal.type(f"spool '{tmp_path}/log'")
    terminal.wait("the session is copied")
    terminal.type("output JSON")
    terminal.wait("output is JSON")
    terminal.type("SELECT * FROM rides EMIT CHANGES LIMIT 1;")
    terminal.wait('"CITY": "Oslo"')
    terminal.type("output CSV")
    terminal.wait("output is CSV")
    terminal.type("SELECT * FROM rides EMIT CHANGES LIMIT 2;")
    terminal.wait("2,Bergen,40")
    terminal.type("output")
    terminal.type("DEFINE town = 'Oslo';")
    terminal.prompt()
    terminal.type("output tabular")
    terminal.type("SHOW VARIABLES;")
    terminal.wait("TOWN")
    terminal.type("spool off")
    terminal.wait("nothing is copied")
    terminal.type("exit")
    assert terminal.ended() == 0
    log = (tmp_path / "log").read_text()
    assert "ksql> output JSON\n" in log and "2,Bergen,40" in log and "\x1b" not in log
    row = next(line for line in log.splitlines() if line.startswith("{"))
    assert json.loads(row)["CITY"] == "Oslo"


def test_new_query_is_waited_for(at_prompt: Terminal, catalog: CatalogEngine) -> None:
    catalog.figures = {"state": "STARTING", "live": False, "lag": None, "rowsIn": 0}
    at_prompt.type("CREATE STREAM far AS SELECT * FROM rides WHERE fare > 30;")
    at_prompt.wait("is starting; Ctrl-C waits no longer")
    catalog.figures = {"state": "RUNNING", "live": True, "lag": 5500, "rowsIn": 4500}
    at_prompt.wait("CSAS_FAR_0: 4,500 of 10,000 rows, 45 %")
    catalog.figures = CAUGHT_UP
    at_prompt.wait(lambda s: "10,000" not in s and "query runs" in s, "the end of the backlog")
    at_prompt.offered("SELECT * FROM f", "far")
    at_prompt.send(CTRL_C)


def test_watch_and_favourites(start: Start, catalog: CatalogEngine) -> None:
    terminal = start()
    terminal.prompt()
    terminal.type("\\fs streams SHOW STREAMS;")
    terminal.wait("\\f streams runs it")
    terminal.type("\\f streams")
    terminal.wait("RIDES")
    asked = sum(c == "SHOW STREAMS;" for c, _ in catalog.calls)
    terminal.type("\\watch 0.1")
    terminal.wait("every 0.1 s, until Ctrl-C: SHOW STREAMS;")
    until = time.monotonic() + 20
    while sum(c == "SHOW STREAMS;" for c, _ in catalog.calls) < asked + 3 and time.monotonic() < until:
        terminal.read()
    terminal.send(CTRL_C)
    terminal.wait("no longer watched")
    terminal.type("\\watch SELECT * FROM rides EMIT CHANGES;")
    terminal.wait("goes on by itself")
    terminal.type("\\fd streams")
    terminal.wait("any more")
    assert sum(c == "SHOW STREAMS;" for c, _ in catalog.calls) >= asked + 3


def test_editor(start: Start, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho 'SHOW TABLES;' > $1\n")
    editor.chmod(0o755)
    terminal = start(environment={"EDITOR": str(editor)})
    terminal.prompt()
    terminal.type("\\e SHOW")
    terminal.wait("ksql> SHOW TABLES;")
    terminal.send(ENTER)
    terminal.wait("ZONES")
    terminal.send(UP)
    terminal.wait(lambda s: s.rstrip().splitlines()[-2:] != [] and s.count("SHOW TABLES;") == 2, "the last statement")
    terminal.send(DOWN + ESCAPE + ENTER)  # the empty text, for sure
    terminal.prompt()


def test_server_that_goes_and_comes_back(start: Start, tmp_path: Path) -> None:
    engine = CatalogEngine()
    with ServerThread(engine) as server:
        port = int(server.url.rpartition(":")[2])
        terminal = start("shell", server.url)
        terminal.wait("ready")
        terminal.type("SHOW STREAMS;")
        terminal.wait("RIDES")
    terminal.wait("away, trying again")
    terminal.type("SHOW TABLES;")
    terminal.wait("error[server-unavailable]: no server answers")
    engine.starting = True
    with ServerThread(engine, port=port):
        terminal.wait("  starting")
        terminal.send("SHOW TABLES;" + ENTER)
        terminal.wait("the server is starting (")
        engine.starting = False
        terminal.wait("ZONES")
        terminal.wait("ready")
        terminal.type("SELECT * FROM rides EMIT CHANGES;")
        terminal.wait("FARE")
    terminal.wait(lambda s: "error[" in s, "the end of the query")
    terminal.prompt()


def test_nobody_there(start: Start) -> None:
    terminal = start("http://127.0.0.1:9")
    terminal.prompt()
    terminal.wait("127.0.0.1:9  away, trying again")
    terminal.type("SHOW STREAMS;")
    terminal.wait("= hint: start one: ksqlpy server")
    terminal.type("help SHOW STREAMS")
    terminal.wait("Lists the streams")


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_poor_terminals(start: Start, catalog: CatalogEngine, environment: dict[str, str]) -> None:
    catalog.played["rides"] = (catalog.played["rides"][0], [[1, "Tromsø 🚕", 1.5]])
    terminal = start(environment=environment)
    terminal.wait("ksql>")
    terminal.send("SELECT *" + ENTER)
    terminal.wait("    >")
    terminal.send("FROM rides EMIT CHANGES LIMIT 1;" + ENTER)
    terminal.wait("Troms")
    terminal.wait("has ended: 1 row")
    catalog.played["rides"] = (catalog.played["rides"][0], RIDES)
    if "LC_ALL" not in environment and "PYTHONIOENCODING" not in environment:
        assert not re.search(rb"\x1b\[[0-9;]*3[1-6]m", terminal.raw), "colours"
    terminal.send(CTRL_D if environment.get("TERM") != "dumb" else "exit\r")
    assert terminal.ended() == 0


def test_ctrl_c_at_the_prompt_forgets_the_text(at_prompt: Terminal) -> None:
    at_prompt.send("SELECT 'never ends")
    at_prompt.send(ENTER)
    at_prompt.wait("    >")
    at_prompt.send(CTRL_C)
    at_prompt.prompt()


def test_password_is_asked_for_and_not_shown(start: Start, address: str) -> None:
    terminal = start("shell", address, "-u", "me", environment={k: v for k, v in os.environ.items() if k == "LANG"})
    terminal.wait("password of me:")
    terminal.send("hush\r")
    terminal.wait("ready")
    assert b"hush" not in terminal.raw


def test_escape_sequences_in_what_comes_as_keys_are_no_error(at_prompt: Terminal) -> None:
    """ESC[31m, a colour, looks like the report of a mouse to the prompt."""
    at_prompt.send("SHOW \x1b[31mSTREAMS\x1b[0;5;3m;")
    at_prompt.wait("SHOW STREAMS;")
    at_prompt.send(ENTER)
    screen = at_prompt.wait("RIDES")
    at_prompt.send("\x1b[200~SELEC '\x1b[31mred\x1b]0;title\x07';\x1b[201~")
    at_prompt.wait("red^[]0;title^G")
    at_prompt.send(ENTER)
    screen += at_prompt.wait("error[")
    assert "Traceback" not in screen and "Exception" not in screen and "\\x1b[31mred" in screen


def test_long_output_goes_through_the_pager(start: Start) -> None:
    terminal = start(environment={"PAGER": "sed -n 's/^/PAGED /;1,4p'"})
    terminal.prompt()
    terminal.type("SHOW FUNCTIONS;")
    assert "PAGED Function" in terminal.wait("PAGED ABS")
    terminal.type("SHOW TABLES;")
    assert "PAGED ZONES" not in terminal.wait("ZONES")
    terminal.type("\\pset pager always")
    terminal.wait("is used for all output of statements")
    terminal.type("SHOW TABLES;")
    terminal.wait("PAGED ZONES")
    terminal.type("\\pset pager off")
    terminal.wait("is used never")
    terminal.type("clear")
    terminal.type("SHOW FUNCTIONS;")
    assert "PAGED" not in terminal.wait("URL_")
    terminal.type("\\pset pager sometimes")
    terminal.wait("takes ON or OFF or ALWAYS, not sometimes")


def test_rows_of_pull_queries_go_through_the_pager(start: Start, catalog: CatalogEngine) -> None:
    columns = catalog.played["rides"][0]
    catalog.played["rides"] = (columns, [[n, f"city {n}", 1.5] for n in range(20_000)])
    terminal = start(environment={"PAGER": "sed -n 's/^/PAGED /;2,5p'"})
    terminal.prompt()
    terminal.type("SELECT * FROM rides;")
    assert "PAGED             2 | city 2 " in terminal.wait("has ended: 20,000 rows")
    terminal.prompt()
    terminal.type("clear")
    terminal.type("SELECT * FROM rides LIMIT 3;")
    assert "PAGED" not in terminal.wait("has ended: 3 rows")
    terminal.type("\\pset pager always")
    terminal.type("SELECT * FROM rides LIMIT 3;")
    terminal.wait("PAGED             2 | city 2 ")
    terminal.prompt()
    terminal.type("clear")
    terminal.type("SELECT * FROM rides EMIT CHANGES LIMIT 100;")  # comes as it happens
    assert "PAGED" not in terminal.wait("has ended: 100 rows")
    catalog.played["rides"] = (columns, RIDES)


def test_times_are_shown_as_times(start: Start, catalog: CatalogEngine) -> None:
    before = catalog.played["rides"]
    catalog.played["rides"] = ((Column("ID", BIGINT, True), Column("ROWTIME", BIGINT)), [[1, 1_714_979_289_012]])
    terminal = start(environment={"TZ": "Asia/Tokyo"})
    terminal.prompt()
    for command, shown in (
        ("", "2024-05-06T07:08:09.012Z"),
        ("\\pset times local", "2024-05-06T16:08:09.012+09:00"),
        ("\\pset times millis", "1714979289012"),
    ):
        if command:
            terminal.type(command)
            terminal.wait("are shown as")
        terminal.type("SELECT id, ROWTIME FROM rides LIMIT 1;")
        assert shown in terminal.wait("has ended: 1 row")
        terminal.type("clear")
        terminal.prompt()
    terminal.type("\\pset times mars")
    terminal.wait("takes UTC or LOCAL or MILLIS, not mars")
    catalog.played["rides"] = before


def test_who_leaves_the_pager_wants_no_more_rows(start: Start, catalog: CatalogEngine) -> None:
    columns = catalog.played["rides"][0]
    catalog.played["rides"] = (columns, [[n, f"city {n}", 1.5] for n in range(1_000_000)])
    terminal = start(environment={"PAGER": "head -4"})
    terminal.prompt()
    terminal.type("SELECT * FROM rides;")
    screen = terminal.wait("is closed after")
    assert "city 1 " in screen and "1,000,000 rows" not in screen
    terminal.prompt()
    assert until(lambda: not catalog.pushes, every=0.01), "the end of the query"
    catalog.played["rides"] = (columns, RIDES)


def test_a_query_without_rows_says_where_it_began(start: Start, catalog: CatalogEngine) -> None:
    catalog.played["rides"] = (catalog.played["rides"][0], [])
    terminal = start()
    terminal.prompt()
    for setting, said in (
        ("", "no rows yet: the query began behind the records that are there; SET 'auto.offset.reset'='earliest';"),
        ("SET 'auto.offset.reset'='earliest';", "SELECT * FROM RIDES EMIT CHANGES; shows whether there is any"),
    ):
        if setting:
            terminal.type(setting)
            terminal.wait("auto.offset.reset is earliest")
        terminal.type("SELECT * FROM rides WHERE fare > 1 EMIT CHANGES;")
        terminal.wait(lambda s, said=said: said in s.replace("\n", ""), said)
        terminal.send(CTRL_C)
        terminal.wait("is closed after 0 rows")
        terminal.type("clear")
        terminal.prompt()
    terminal.type("output json")
    terminal.type("SELECT * FROM rides EMIT CHANGES;")
    assert "began" not in terminal.wait("Ctrl-C ends the query (4 s)")
    catalog.played["rides"] = (catalog.played["rides"][0], RIDES)


def test_a_slow_pull_query_has_no_beginning(start: Start, catalog: CatalogEngine) -> None:
    catalog.played["rides"] = (catalog.played["rides"][0], [])
    catalog.slow = True
    terminal = start(environment={"PAGER": ""})
    terminal.prompt()
    terminal.type("SELECT city FROM rides WHERE fare > 1;")
    assert "began" not in terminal.wait("no answer yet, Ctrl-C ends the query (4 s)")
    terminal.send(CTRL_C)
    terminal.wait("is closed after 0 rows")
    catalog.slow = False
    catalog.played["rides"] = (catalog.played["rides"][0], RIDES)
