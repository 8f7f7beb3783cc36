"""The command in this process, which may share the tests' Spark session."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import pytest

from ksqlpy.__main__ import main


class Done:
    """A command that has ended: exit code, standard output, standard error."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def ksqlpy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Done]:
    """Runs the command; what the environment says of Kafka is not for it."""
    # A session that goes on still writes what its queries left when their command has removed it.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("command")))
    monkeypatch.delenv("KSQLPY_BOOTSTRAP_SERVERS", raising=False)

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return Done(code, *capsys.readouterr())

    return run
