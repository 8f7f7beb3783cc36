"""What commands say to files that are none, to servers and brokers that are away, and to what nobody expected.

A block of ``refusals.txt`` is a command line, ``----``, and how what it says begins; exit code 1, no traceback.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.commands import COMMANDS
from ksqlpy.commands.guard import guarded
from ksqlpy.errors import as_problem, file_reason

BLOCKS = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").strip("\n").split("\n\n")
EXAMPLES = [block.split("\n----\n") for block in BLOCKS]
NO_SQL = b"\xff\xfe\x00 this is no text"
DEFINITIONS = """
CREATE STREAM rides (id INT KEY, km INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""

Run = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: with a folder, files that are no text, and definitions."""
    (tmp_path / "folder").mkdir()
    for ending in ("sql", "test", "json", "csv", "parquet"):
        (tmp_path / f"bytes.{ending}").write_bytes(NO_SQL)
    (tmp_path / "definitions.sql").write_text(DEFINITIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ksqlpy.spark.kafka.TIMEOUT", 0.5)  # seconds for brokers that are not there
    monkeypatch.setattr("sys.stdin", io.StringIO("SHOW STREAMS;"))
    return tmp_path


@pytest.mark.parametrize(("line", "said"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_a_command_says_what_is_wrong(here: Path, ksqlpy: Run, line: str, said: str) -> None:
    done = ksqlpy(*shlex.split(line))
    assert ("\n" + done.err + done.out).find("\n" + said.replace("{here}", str(here))) >= 0
    assert done.code == (2 if said.startswith("ksqlpy ") else 1)
    assert not re.search(r"Traceback|\[Errno|KafkaError|Exception", done.err + done.out)


def test_every_command_is_among_them() -> None:
    assert {c.name for c in COMMANDS} == {line.split()[0] for line, _ in EXAMPLES if line[0] != "-"}


JAVA = """An error occurred while calling o45.start.
: java.lang.IllegalStateException: cannot start
\tat org.example.A.b(A.java:1)
\t... 3 more
Caused by: java.io.IOException: No space left on device
\tat org.example.C.d(C.java:2)
"""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("op"), "error[internal]: KeyError: 'op'"),
        (RuntimeError(JAVA), "error[internal]: RuntimeError: IOException: No space left on device\n"),
        (
            PermissionError(13, "Permission denied", "/etc/shadow"),
            "error[file-unusable]: /etc/shadow: permission denied",
        ),
        (OSError(28, "No space left on device"), "error[system-refuses]: the operating system refuses: no space left"),
        (RuntimeError(), "error[internal]: RuntimeError\n"),
    ],
)
def test_what_nobody_expected_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail() -> int:
        raise error

    assert guarded(fail) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(said) and "Traceback" not in shown
    monkeypatch.setenv("KSQLPY_TRACEBACK", "1")
    assert guarded(fail) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_thread_that_fails_is_a_line_of_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # as it was, afterwards

    def body() -> int:
        thread = threading.Thread(target=lambda: {}["op"], name="watch")
        thread.start()
        thread.join()
        return 0

    assert guarded(body) == 0
    assert [r.getMessage() for r in caplog.records] == ["thread watch ended: KeyError: 'op'"]
    assert "Traceback" not in caplog.text + capsys.readouterr().err


def test_reasons_have_no_numbers_of_the_system() -> None:
    try:
        Path("/there/is/none").read_text()
    except OSError as e:
        assert file_reason(e) == "no such file or directory"
        assert as_problem(e).message == "/there/is/none: no such file or directory"


@pytest.mark.parametrize("line", ["--help", "check bytes.sql wrong.sql", "check wrong.sql", "fmt --check wrong.sql"])
def test_nobody_reads_what_it_says(here: Path, line: str) -> None:
    """As in ``ksqlpy … | true``."""
    (here / "wrong.sql").write_text("SELEC 1;\n" * 50)
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "ksqlpy", *line.split()]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr and "BrokenPipe" not in done.stderr
    assert done.returncode in ((0,) if line == "--help" else (1, 141))
