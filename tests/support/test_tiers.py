"""A test that starts Java without saying so is found, and the page of the tiers is true."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tiers import EXTENDED, LONGEST

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "internals" / "tests.md"

STARTS = {
    "by the name": "import subprocess\ndef test_it():\n    subprocess.run(['java', '-version'])",
    "as the product finds it": """
import subprocess
from ksqlpy.embedded.java import find_java
def test_it():
    subprocess.run([find_java().executable, '-cp', 'x', 'Main'])
""",
    "whatever it fails with": """
from ksqlpy.embedded.kafka import EmbeddedKafka
def test_it():
    EmbeddedKafka(ready_within=1).start()
""",
    "by a child": """
import subprocess, sys
def test_it():
    program = "import subprocess; subprocess.run(['java', 'Main'])"
    subprocess.run([sys.executable, '-c', program])
""",
    "in a fixture": """
import subprocess, pytest
@pytest.fixture
def made():
    yield
    subprocess.run(['java', 'Main'])
def test_it(made):
    pass
""",
    "of the package": """
import subprocess, sys
from pathlib import Path
def test_it(tmp_path):
    own = tmp_path / 'java'
    own.symlink_to(sys.executable)
    subprocess.run([own, '-c', ''])
""",
}


def test_the_longest_files_are_there() -> None:
    assert all((ROOT / name).is_file() for name in LONGEST)


def run(folder: Path, text: str) -> str:
    file = folder / "test_of_somebody.py"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.tiers", "--no-java", "-c", "/dev/null", "-q"]
    command += ["-o", "markers=java: it starts Java", "-p", "no:cacheprovider", "--rootdir", str(folder), str(file)]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # half of the time would go into them
    return subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=ROOT, env=env).stdout


@pytest.mark.parametrize("text", STARTS.values(), ids=list(STARTS))
def test_a_start_of_java_is_found(tmp_path: Path, text: str) -> None:
    said = run(tmp_path, text)
    assert "starts Java: mark it with one of spark, kafka, java" in said
    assert "1 failed" in said or "1 error" in said, said


def test_another_program_may_be_started(tmp_path: Path) -> None:
    said = run(tmp_path, "import subprocess\ndef test_it():\n    subprocess.run(['true'], check=True)\n")
    assert "1 passed" in said, said


def extended() -> Iterator[str]:
    """The rows of the page: each file with tests of ``make test-all`` only, and why."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        reasons: dict[str, None] = {}
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) == f"pytest.mark.{EXTENDED}":
                reasons[ast.literal_eval(call.args[0])] = None
        marks = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == EXTENDED]
        assert len(marks) >= len(reasons) and (reasons or not marks), f"{file}: each mark names its reason"
        if reasons:
            yield f"| `{file.relative_to(ROOT)}` | {'; '.join(reasons)} |"


def test_the_page_lists_what_make_test_leaves_out() -> None:
    _, _, table = PAGE.read_text(encoding="utf-8").partition("| file | why |\n|---|---|\n")
    assert table.partition("\n\n")[0].splitlines() == list(extended())
