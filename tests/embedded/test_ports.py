"""Ports that stay the same from start to start."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest

from ksqlpy.embedded.ports import is_free, keep_port, usual_port

HOST = "127.0.0.1"


def test_the_port_of_the_last_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = usual_port(tmp_path, HOST)
    assert first is not None and is_free(HOST, first)
    keep_port(tmp_path, first)
    assert usual_port(tmp_path, HOST) == first
    with socket.socket() as other, caplog.at_level(logging.WARNING):
        other.bind((HOST, first))
        other.listen()
        second = usual_port(tmp_path, HOST)
    assert second not in (None, first)
    assert f"port {first}, of the last start with {tmp_path}, is in use" in caplog.text


@pytest.mark.parametrize("text", ["", "many", "0", "99999", "-4"])
def test_a_file_that_says_no_port(tmp_path: Path, text: str) -> None:
    (tmp_path / "port").write_text(text)
    found = usual_port(tmp_path, HOST)
    assert found is not None and is_free(HOST, found)
