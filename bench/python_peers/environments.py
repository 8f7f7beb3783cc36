"""Environments with the peers' packages, outside the repository: each peer's own, since their needs contradict.

They stand in ksqlpy's cache folder and are made when a peer first takes part, and again when its pins change.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from bench.contenders import NotBuilt
from ksqlpy.embedded.cache import cache_folder, digest, locked

__all__ = ["environment", "reason"]

_PINNED = Path(__file__).with_name("pinned")

LONGEST = 1800.0
"""Seconds that pip may take: PyFlink's packages are 400 MB."""


def environment(name: str) -> Path:
    """The Python of a peer's environment, which has the packages that ``pinned/NAME.txt`` names; made if missing.

    Raises NotBuilt where pip does not install them.
    """
    pinned = _PINNED / f"{name}.txt"
    folder = cache_folder("bench") / f"{name}-{digest(pinned.read_text(encoding='utf-8'), sys.version)}"
    python, whole, log = folder / "bin" / "python", folder / "whole", folder.with_suffix(".log")
    with locked(folder.with_suffix(".lock")):
        if whole.exists():
            return python
        print(f"installing bench/python_peers/pinned/{name}.txt", flush=True)
        make = [sys.executable, "-m", "venv", "--clear", str(folder)]
        install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--requirement", str(pinned)]
        with log.open("wb") as out:
            for command in (make, install):
                try:
                    status = subprocess.run(
                        command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=LONGEST
                    ).returncode
                except subprocess.TimeoutExpired:
                    status = -1
                if status != 0:
                    said = reason(log.read_text(encoding="utf-8", errors="replace"))
                    raise NotBuilt(f"pip did not install bench/python_peers/pinned/{name}.txt: {said}")
        whole.touch()
    return python


def reason(log: str) -> str:
    """What pip says about its failure: the first line of its errors."""
    found = re.search(r"^(?:ERROR|error): *(.+)$", log, re.MULTILINE)
    return found[1] if found else "it says nothing"
