"""What systemd hears: nothing before statements are taken, READY then, STOPPING at the end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.server.service_manager import ServiceManager

ROOT = Path(__file__).parents[2]


def listening(address: str) -> socket.socket:
    """The socket of systemd."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    found.bind(address)
    found.settimeout(20)
    return found


def test_a_server_says_when_it_is_ready_and_when_it_stops(sockets_folder: Path) -> None:
    address = str(sockets_folder / "notify")
    with listening(address) as systemd:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fake_engine", "0", "1"],  # its engine takes a second to start
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "NOTIFY_SOCKET": address},
        )
        try:
            assert process.stdout is not None
            said = [systemd.recv(1000).decode()]
            while "READY=1" not in said[-1]:
                said.append(systemd.recv(1000).decode())
            assert all(s.startswith("STATUS=") for s in said[:-1])
            line = next(li for li in process.stdout if "is ready at" in li)
            assert said[-1] == f"READY=1\nSTATUS=ready at {line.split()[-1]}"
            process.send_signal(signal.SIGTERM)
            assert systemd.recv(1000) == b"STOPPING=1\nSTATUS=stopping"
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.communicate()


def test_children_do_not_inherit_it(monkeypatch: pytest.MonkeyPatch, sockets_folder: Path) -> None:
    address = str(sockets_folder / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with listening(address) as systemd:
        manager = ServiceManager()
        assert "NOTIFY_SOCKET" not in os.environ
        manager.status("starting Kafka")
        assert systemd.recv(1000) == b"STATUS=starting Kafka"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sockets without a file")
def test_a_name_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", f"@ksqlpy-test-{os.getpid()}")
    with listening(f"\0ksqlpy-test-{os.getpid()}") as systemd:
        ServiceManager().ready("here")
        assert systemd.recv(1000) == b"READY=1\nSTATUS=here"


@pytest.mark.parametrize("name", ["", "/nowhere/notify"])
def test_nobody_listens(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    ServiceManager().ready("here")
