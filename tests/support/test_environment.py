"""The environment can be read while pytest changes it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.request


def test_it_is_read_while_a_variable_comes_and_goes() -> None:
    stop = threading.Event()
    kept = os.environ["PYTEST_CURRENT_TEST"]

    def change() -> None:
        while not stop.is_set():
            os.environ.pop("PYTEST_CURRENT_TEST", None)
            os.environ["PYTEST_CURRENT_TEST"] = kept

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2_000):
            urllib.request.getproxies()
    finally:
        stop.set()
        thread.join()
        os.environ["PYTEST_CURRENT_TEST"] = kept


def test_programs_have_the_other_variables() -> None:
    shown = "import os; print(os.environ['PATH'])"
    said = subprocess.run([sys.executable, "-c", shown], env=dict(os.environ), capture_output=True, text=True)
    assert said.stdout.strip() == os.environ["PATH"]
