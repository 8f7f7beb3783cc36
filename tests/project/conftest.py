"""The command in this process, and an engine without Kafka and Spark behind a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ksqlpy.__main__ import main
from ksqlpy.server.run import ServerThread
from tests.project.engine_server import EngineServer, Ran


@pytest.fixture
def server() -> EngineServer:
    return EngineServer()


@pytest.fixture
def url(server: EngineServer) -> Iterator[str]:
    with ServerThread(server.engine) as running:
        yield running.url


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs ``ksqlpy …``: exit code, standard output, standard error."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return run
