"""A server in a thread, the command in this process, and the command as a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from ksqlpy.__main__ import main
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def url(engine: FakeEngine) -> Iterator[str]:
    with ServerThread(engine) as server:
        yield server.url


class Done:
    """A command that has ended: exit code, standard output, standard error."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def ksqlpy(url: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs the command against the server."""

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(["--server", url, *arguments])
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command as a process of its own."""
    processes = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "ksqlpy", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()
