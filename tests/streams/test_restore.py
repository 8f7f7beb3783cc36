"""A sample of the statement files, the engine's JVM killed between their records; see tests/harness/together.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.testing.records import Record
from tests.harness.restore import fit, restorable
from tests.harness.together import cut, sample

FOLDER = Path(__file__).parent
COUNT = 30
CASES = [f"{c.file.stem}: {c.name}" for c in fit(restorable([FOLDER]), COUNT)]


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Why each case failed. In a process of its own: the JVM of this one must stay."""
    report = tmp_path_factory.mktemp("restore") / "report.json"
    command = [sys.executable, "-m", "tests.harness.restore", str(FOLDER), "--sample", str(COUNT)]
    done = subprocess.run(
        [*command, "--batch", str(COUNT), "--report", str(report)], capture_output=True, text=True, timeout=1500
    )
    if not report.exists():
        pytest.fail(f"{done.stdout}\n{done.stderr}", pytrace=False)
    found: dict[str, str | None] = json.loads(report.read_text(encoding="utf-8"))
    return found


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.extended("the JVM killed between the records of 30 cases")
@pytest.mark.parametrize("name", CASES)
def test_a_kill_changes_nothing(name: str, failures: dict[str, str | None]) -> None:
    failure = failures[name]
    if failure is not None:
        pytest.fail(failure, pytrace=False)


def test_the_sample_is_of_all_files_and_the_same_each_time() -> None:
    words = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]
    found = sample(words, 5, group=lambda w: w[0], name=str)
    assert [sorted(w[0] for w in found).count(g) for g in "abc"] == [2, 2, 1]
    assert found == sample(words[::-1], 5, group=lambda w: w[0], name=str)
    assert len(CASES) == COUNT


def test_parts_hold_all_records_in_order() -> None:
    records = [Record("t", None, None, time) for time in range(8)]
    for count in range(9):
        for parts in range(1, 4):
            found = cut(records[:count], parts)
            assert [r for part in found for r in part] == records[:count]
            assert len(found) == parts and sum(map(bool, found)) == min(count, parts)
    assert [len(part) for part in cut(records[:1], 2)] == [1, 0]
