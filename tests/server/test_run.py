"""The server as a process: the line it prints, its port, its signals."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.server.run import ServerThread, listen, serve
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts server processes: port and time that the engine takes to start."""
    processes = []

    def start(port: int, engine: float | str = 0) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.fake_engine", str(port), str(engine)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def ready_url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = next((li for li in process.stdout if not li.startswith(("Kafka   ", "data    goes at the end"))), "")
    assert line.startswith("ksqlpy server is ready at http://127.0.0.1:"), line
    return line.split()[-1]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_queries_engine_and_server(start: Start, name: signal.Signals) -> None:
    process = start(0)
    url = ready_url(process)
    sql = {"sql": "SELECT * FROM live EMIT CHANGES;"}
    with httpx.stream("POST", f"{url}/query-stream", json=sql, trust_env=False, timeout=10) as answer:
        lines = answer.iter_lines()
        next(lines)
        process.send_signal(name)
        assert "50303" in "".join(lines)
    output, _ = process.communicate(timeout=10)
    assert (output, process.returncode) == ("stopped\n", 0)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/info", trust_env=False, verify=False)


def start_slowly(start: Start) -> tuple[subprocess.Popen[str], httpx.Response]:
    """A process whose engine is still starting, and its first answer."""
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    process = start(port, 1)

    def info() -> httpx.Response | None:
        with contextlib.suppress(httpx.ConnectError):
            return httpx.get(f"http://127.0.0.1:{port}/info", trust_env=False, verify=False)
        return None

    answer = until(info, 10, every=0.02)
    assert answer is not None
    return process, answer


def test_503_while_the_engine_starts(start: Start) -> None:
    process, answer = start_slowly(start)
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)
    assert httpx.get(f"{ready_url(process)}/info", trust_env=False, verify=False).status_code == 200


def test_signal_while_the_engine_starts(start: Start) -> None:
    process, _ = start_slowly(start)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=10)
    assert (output, process.returncode) == ("stopped\n", 0)


def test_engine_that_does_not_start(start: Start) -> None:
    output, _ = (process := start(0, "fails")).communicate(timeout=10)
    assert output == "error[no-start]: the engine does not start\n"
    assert process.returncode == 1


def test_a_server_that_lost_the_service_ends_with_a_code_of_its_own(start: Start) -> None:
    output, _ = (process := start(0, "lost")).communicate(timeout=10)
    assert "error[service-taken]: another engine has it\n" in output
    assert process.returncode == 3


def test_port_in_use_is_found_before_anything_starts(start: Start) -> None:
    class Untouched(FakeEngine):
        def start(self) -> None:
            raise AssertionError("started")

    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentProblem, match=f"port {port} on 127.0.0.1 is in use") as e:
            serve(Config.of({"ksqlpy.port": port}), engine=Untouched())
        assert e.value.code == "port-in-use"
        assert e.value.hint is not None and "--port" in e.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_address_of_another_machine(host: str) -> None:
    with pytest.raises(EnvironmentProblem) as e:
        listen(host, 0, insecure=True)
    assert e.value.code == "address-unusable"


def test_port_is_free_again_at_once() -> None:
    with ServerThread(FakeEngine()) as first:
        port = httpx.URL(first.url).port or 0
        assert httpx.get(f"{first.url}/info", trust_env=False, verify=False).status_code == 200
    with ServerThread(FakeEngine(), port=port) as second:
        assert second.url == first.url
        assert httpx.get(f"{second.url}/info", trust_env=False, verify=False).status_code == 200


def test_thread_ends_with_idle_connections_open() -> None:
    with ServerThread(FakeEngine()) as server:
        idle = socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0))
        session = httpx.Client(base_url=server.url, http1=False, http2=True, trust_env=False, verify=False)
        assert session.get("/info").status_code == 200
        begin = time.monotonic()
    assert time.monotonic() - begin < 2
    assert not any(t.name == "server" for t in threading.enumerate())
    idle.close()
    session.close()
