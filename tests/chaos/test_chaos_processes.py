"""When a process counts as gone."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil

from tests.harness.server import _wait_until_gone


def test_a_process_that_nobody_asks_for_its_status_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        process = psutil.Process(child.pid)
        assert _wait_until_gone([process], 0.1) == [process]
        process.kill()
        begin = time.monotonic()
        assert _wait_until_gone([process], 20) == []
        assert time.monotonic() - begin < 10
    finally:
        child.kill()
        child.wait()
    assert _wait_until_gone([process], 0.1) == []
