"""Temporary files of a run lie in memory if there is room, and are gone behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scratch import IN_MEMORY, in_memory

ROOT = Path(__file__).parents[2]
TELLS = """
def test_it(tmp_path, pytestconfig):
    (pytestconfig.rootpath / 'told').write_text(str(tmp_path))
"""


def run(folder: Path, **settings: str) -> Path:
    (folder / "test_it.py").write_text(TELLS)
    environment = {k: v for k, v in os.environ.items() if k != "TMPDIR" and not k.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(ROOT)} | settings
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder)]
    subprocess.run([*command, "-p", "tests.support.scratch", "test_it.py"], check=True, cwd=folder, env=environment)
    return Path((folder / "told").read_text())


def test_they_lie_in_memory_and_are_removed(tmp_path: Path) -> None:
    if not in_memory():
        pytest.skip("there is no room in memory")
    told = run(tmp_path)
    assert told.is_relative_to(IN_MEMORY)
    assert not told.exists()


def test_they_lie_where_tmpdir_says_and_stay(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    told = run(tmp_path, TMPDIR=str(own))
    assert told.is_relative_to(own)
    assert told.is_dir()


def test_a_folder_without_room_is_not_taken(tmp_path: Path) -> None:
    assert not in_memory(tmp_path / "none")
    assert not in_memory(tmp_path, room=1 << 62)
    assert in_memory(tmp_path, room=1)
