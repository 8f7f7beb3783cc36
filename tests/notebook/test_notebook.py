"""Cells with ``%%ksql``, in IPython's own shell, over a session whose engine is a table of answers."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from ksqlpy.errors import Span, SyntaxProblem
from ksqlpy.notebook import KsqlMagic, Shown
from ksqlpy.session.inbox import Given, Inbox, Opened
from ksqlpy.session.rows import Column
from ksqlpy.session.session import Session
from ksqlpy.types import BIGINT, DOUBLE, STRING

COLUMNS = (Column("ZONE", STRING), Column("N", BIGINT), Column("SHARE", DOUBLE))
ROWS = [["Queens", 2, 0.5], ["<b>Bronx</b>", 1, None], ["Queens", 4, 1.0]]


class Answers:
    """A transport that notes what it is asked; a push query gives its rows, then waits until it is ended."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False
        self.ended = threading.Event()

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]:
        self.asked.append(sql)
        if "nowhere" in sql:
            raise SyntaxProblem("unknown-source", "there is no stream NOWHERE", span=Span(5, 12), sql=sql)
        return [{"@type": "warning_entity", "message": "done"}] if sql.startswith("SHOW") else []

    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened:
        self.asked.append(sql)
        if "EMIT CHANGES" not in sql:
            return Given("q", COLUMNS, ROWS)
        self.ended.clear()
        return Inbox("q", COLUMNS, self._rows(), self.ended.set)

    def _rows(self) -> Generator[Any, None, None]:
        yield from ROWS
        while not self.ended.wait(0.01):
            yield None

    def insert(self, target: str, lines: Iterable[bytes]) -> int:
        raise AssertionError("not asked for here")

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        raise AssertionError("not asked for here")

    def close(self) -> None:
        self.closed = True
        self.ended.set()


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def shell(answers: Answers) -> Iterator[InteractiveShell]:
    """A notebook's shell, in which the session ``s`` is asked."""
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(history_length=0)
    made.history_manager.enabled = False
    made.kernel = object()
    made.run_line_magic("load_ext", "ksqlpy")
    with Session(answers, "a test") as session:
        made.user_ns["s"] = session
        made.run_line_magic("ksql", "s")
        yield made
        made.run_line_magic("unload_ext", "ksqlpy")
    InteractiveShell.clear_instance()


def cell(shell: InteractiveShell, text: str) -> Any:
    """What the cell shows, and how it ended."""
    with capture_output() as seen:
        seen.result = shell.run_cell(text)
    return seen


def test_a_pull_query_shows_a_table(shell: InteractiveShell, answers: Answers) -> None:
    seen = cell(shell, "%%ksql\nSELECT * FROM n WHERE zone = 'a;b'")
    assert answers.asked == ["SELECT * FROM n WHERE zone = 'a;b';"]
    last = seen.outputs[-1].data
    assert "<td>&lt;b&gt;Bronx&lt;/b&gt;</td>" in last["text/html"]
    assert last["text/html"].count("<tr>") == 4 and last["text/html"].endswith("<p>3 rows</p>")
    assert last["text/plain"].splitlines() == [
        "ZONE          N  SHARE",
        "------------  -  -----",
        "Queens        2  0.5",
        "<b>Bronx</b>  1  null",
        "Queens        4  1.0",
        "3 rows",
    ]


def test_statements_values_and_names(shell: InteractiveShell, answers: Answers) -> None:
    shell.user_ns.update(zone="it's", least=Decimal("0.5"))
    seen = cell(
        shell,
        "%%ksql --into rows --rows 1\nSHOW STREAMS; -- ;\nCREATE STREAM c AS SELECT ':zone' AS z FROM s;\n"
        "SELECT * FROM n WHERE zone = :zone AND n > :least;",
    )
    assert seen.result.success
    assert answers.asked == [
        "SHOW STREAMS;",
        "-- ;\nCREATE STREAM c AS SELECT ':zone' AS z FROM s;",
        "SELECT * FROM n WHERE zone = 'it''s' AND n > 0.5;",
    ]
    assert "done" in seen.stdout
    assert "the last 1 of 3 rows" in seen.outputs[-1].data["text/plain"]
    assert [row.n for row in shell.user_ns["rows"]] == [2, 1, 4]


def test_a_push_query_goes_on_until_its_time_is_over(shell: InteractiveShell, answers: Answers) -> None:
    for _ in range(2):  # a cell that is run again begins anew
        seen = cell(shell, "%%ksql --seconds 0.6\nSELECT * FROM s EMIT CHANGES;")
        assert seen.result.success and answers.ended.wait(5)
        assert all(o.data["text/plain"].endswith("more are to come") for o in seen.outputs[:-1])
        assert seen.outputs[-1].data["text/plain"].endswith("\n3 rows")
    assert len({o.transient["display_id"] for o in seen.outputs}) == 1 < len(seen.outputs)


def test_an_interruption_ends_the_query(shell: InteractiveShell, answers: Answers, monkeypatch: Any) -> None:
    update = Shown.__init__

    def interrupted(self: Shown, names: Any, rows: Any, *more: Any, **options: Any) -> None:
        update(self, names, rows, *more, **options)
        if len(rows) == 3 and options["open"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Shown, "__init__", interrupted)
    seen = cell(shell, "%%ksql --into rows\nSELECT * FROM s EMIT CHANGES;")
    assert seen.result.success and answers.ended.wait(5)
    assert len(shell.user_ns["rows"]) == 3


def test_bars(shell: InteractiveShell) -> None:
    seen = cell(shell, "%%ksql --plot\nSELECT zone, n FROM n;").outputs[-1].data
    assert seen["text/plain"].splitlines() == [
        f"Queens        {'█' * 40} 1",
        f"<b>Bronx</b>  {'█' * 40} 1",
        "3 rows",
    ]
    assert seen["text/html"].count("width:20em") == 2 and "&lt;b&gt;" in seen["text/html"]
    odd = Shown(["A", "B"], [["x", float("nan")], ["y", -1], ["z", None], ["w", True]], 9, plot=True)
    assert repr(odd).splitlines() == ["x   nan", "y   -1", "4 rows"]


def test_a_terminal_prints_rows_as_they_come(shell: InteractiveShell) -> None:
    del shell.kernel
    seen = cell(shell, "%%ksql\nSELECT * FROM n;")
    lines = ["ZONE  N  SHARE", "Queens  2  0.5", "<b>Bronx</b>  1  null", "Queens  4  1.0", "3 rows"]
    assert seen.stdout.splitlines() == lines
    assert cell(shell, "%%ksql --plot\nSELECT * FROM n;").stdout.count("█") == 80


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("%%ksql\nDROP nowhere;", "error[unknown-source]: there is no stream NOWHERE"),
        ("%%ksql\nSELECT :gone FROM s;", "error[unbound-parameter]: the parameter :gone has no value"),
        ("%%ksql\nSELECT 'a FROM s;", "error[unterminated-string]: the string that starts here never ends"),
        ("%%ksql --fast\nSHOW STREAMS;", "error[bad-option]: %%ksql: unrecognized arguments: --fast"),
        ("%ksql nowhere", "error[bad-url]: 'nowhere' is no URL of a server"),
    ],
)
def test_what_is_wrong_is_drawn(shell: InteractiveShell, text: str, says: str) -> None:
    seen = cell(shell, text)
    assert not seen.result.success
    assert seen.stdout.splitlines()[0] == says
    assert "Traceback" not in seen.stdout


def test_the_extension_is_loaded_and_unloaded(shell: InteractiveShell, answers: Answers) -> None:
    assert isinstance(shell.magics_manager.magics["cell"]["ksql"].__self__, KsqlMagic)
    shell.run_line_magic("reload_ext", "ksqlpy")
    shell.run_line_magic("ksql", "s")
    assert cell(shell, "%%ksql\nSHOW STREAMS;").result.success
    shell.run_line_magic("unload_ext", "ksqlpy")
    assert "ksql" not in shell.magics_manager.magics["cell"] and "ksql" not in shell.magics_manager.magics["line"]
    assert not shell.user_ns["s"].closed  # it is the notebook's
