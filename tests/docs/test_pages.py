"""What the pages tell a reader to type works, in the order of reading: commands, and statements on one server.

A page whose commands are not run is listed with the reason. ``tests/newcomer`` pastes README and quickstart into a
terminal.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksqlpy.__main__ import _parser, main
from ksqlpy.client import Client
from ksqlpy.shell.commands import run_text
from ksqlpy.shell.session import Limits
from ksqlpy.testing import read_cases
from ksqlpy.testing.stories import read_stories
from tests.docs.pages import ROOT, commands, pages, pieces
from tests.newcomer.environment import made_for
from tests.support.waiting import until

SQL = (
    "docs/sql-reference.md",
    "docs/joins-and-windows.md",
    "docs/queries.md",
    "docs/python-functions.md",
    "docs/roles.md",
)
"""Pages whose statements are run one after the other, in the order of docs/README.md."""

PASTED = ("README.md", "docs/quickstart.md")
"""Those that tests/newcomer pastes."""

STORIES = tuple(f"examples/{s.name}/README.md" for s in read_stories() if s.runs)
"""Examples with something to run: a reader follows their pages beside the ``ksqlpy dev`` that the page names."""

PROGRAMS = {f"examples/{s.name}/README.md": s for s in read_stories() if s.program is not None}
"""Those that are programs, with engines of their own."""

RUN = ("docs/test-files.md", "examples/project/README.md", *STORIES)
"""Pages whose commands are run."""

NOT_RUN = {
    "docs/cluster.md": "a cluster of the reader's",
    "docs/coming-from-ksqldb.md": "files of the reader's; tests/docs/test_coming_from.py runs its statements",
    "docs/command-line.md": "brokers, files and queries of the reader's",
    "docs/operations.md": "run by tests/backup/test_everything_lost.py, with brokers of the test",
    "docs/security.md": "logins and certificates of the reader's",
    "docs/sql-as-code.md": "the commands of examples/project",
    "docs/sql-statements.md": "examples of help, which the tests of the shell parse",
    "examples/container/README.md": "images",
    "examples/monitoring/README.md": "a Prometheus and a Grafana",
    "examples/kubernetes/README.md": "images and a cluster",
}


def test_every_page_is_run_or_listed() -> None:
    typed = {p for p in pages() if any(x.kind in ("commands", "sql") for x in pieces(p))}
    shown = {p for p in typed if not any(x.kind == "commands" for x in pieces(p))}
    assert typed == {*SQL, *PASTED, *RUN, *NOT_RUN}
    assert shown == {*SQL, "docs/sql-statements.md"}
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    places = [index.index(f"({p.removeprefix('docs/')})") for p in SQL]
    assert places == sorted(places)


@pytest.mark.parametrize("page", [p for p in pages() if any(x.kind == "commands" for x in pieces(p))])
def test_commands_and_options_are_those_that_there_are(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for text in (c for x in pieces(page) if x.kind == "commands" for c in commands(x.text)):
        for program, *arguments in simple(text):
            if program == "ksqlpy":
                try:
                    _parser().parse_args(arguments)
                except SystemExit:
                    pytest.fail(f"{page}: {text}: {capsys.readouterr().err}")
            elif program == "make":
                assert {a for a in arguments if a.isalpha() or "-" in a[1:]} <= targets, text


def simple(text: str) -> list[list[str]]:
    """The words of the commands that a shell makes of a line, without what is for the shell alone."""
    found: list[list[str]] = [[]]
    for word in (words := iter(shlex.split(text.replace("\\\n", " "), comments=True))):
        if word == "&&":
            found.append([])
        elif word == ">":
            next(words)
        elif word != "&":
            found[-1].append(word)
    return found


def test_the_statements_of_all_pages_stand_beside_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = [x.text for page in SQL for x in pieces(page) if x.kind == "sql"]
    script = tmp_path / "pages.sql"
    script.write_text("\n\n".join(blocks), encoding="utf-8")
    assert main(["check", str(script)]) == 0, capsys.readouterr().out


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of a server as a process, which ends with the test."""
    command = [sys.executable, "-m", "ksqlpy", "server", "--temporary", "--port", "0", "-D", "ksqlpy.warm.up=false"]
    command += ["-D", "ksqlpy.functions.python.enabled=true"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        ready = next((line for line in process.stdout if "is ready at" in line), "")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        try:
            yield ready.split()[-1]
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("the statements and commands of all pages, on servers as processes")
def test_the_statements_of_all_pages_run_on_one_server(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    for page in SQL:
        for piece in (x for x in pieces(page) if x.kind == "sql"):
            assert run_text(piece.text, server, "json", {}, complete=True, limits=Limits(milliseconds=2000)) == 0
    with Client(server) as client:

        def states() -> dict[str, str]:
            return {q["id"]: q["state"] for q in client.statements("SHOW QUERIES;")[0]["queries"]}

        assert len(states()) > 20
        assert until(lambda: set(states().values()) == {"RUNNING"}, 300, every=2), states()


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("the statements and commands of all pages, on servers as processes")
@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    """As one script of a shell that ends at the first error; what it leaves in the background ends with it."""
    here = tmp_path / "here"
    here.mkdir()
    before: list[str] = []
    if page in PROGRAMS:
        if PROGRAMS[page].missing:
            pytest.skip(f"needs {', '.join(PROGRAMS[page].missing)}")
        before = [f'python() {{ {shlex.quote(sys.executable)} "$@"; }}']  # that of the reader's environment
    elif page in STORIES:
        named = re.search(r"`(ksqlpy dev [^`]*)`", (ROOT / page).read_text(encoding="utf-8"))
        assert named is not None, "the page names no server"
        before = [f"{named[1]} --no-shell &", 'ksqlpy --wait 300 -e "SHOW STREAMS;"']  # a reader sees when it is there
    elif page == "docs/test-files.md":
        (here / "rides.test").write_text(next(x.text for x in pieces(page) if x.kind == "test") + "\n")
    else:  # readers edit it
        shutil.copytree(ROOT / Path(page).parent, here, dirs_exist_ok=True)
    blocks = [x.text for x in pieces(page) if x.kind == "commands"]
    script = "\n".join(["set -e", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT", *before, *blocks])
    done = subprocess.run(
        ["bash", "-c", script], cwd=here, env=made_for(tmp_path), capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_file_of_the_page_about_files_has_no_open_answer(tmp_path: Path) -> None:
    [text] = [x.text for x in pieces("docs/test-files.md") if x.kind == "test"]
    (tmp_path / "rides.test").write_text(f"{text}\n", encoding="utf-8")
    cases = read_cases(tmp_path / "rides.test")
    assert [c.name for c in cases] == ["branch by amount", "an unknown column"]
    assert [c.name for c in cases if c.open] == []
