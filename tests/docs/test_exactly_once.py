"""docs/internals/exactly-once.md names files, tests and jobs that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "internals" / "exactly-once.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`\n]+)`", PAGE))

HOMES = (ROOT, ROOT / "ksqlpy", ROOT / "ksqlpy" / "spark", ROOT / "ksqlpy" / "spark" / "jvm")
HOMES += (ROOT / "ksqlpy" / "spark" / "jvm" / "once", ROOT / "tests" / "jvm" / "java")
"""The folders from which the page names files."""


def found(path: str) -> Path | None:
    return next((home / path for home in HOMES if (home / path).exists()), None)


def test_its_files_exist() -> None:
    files = {name for name in NAMED if re.fullmatch(r"[\w/]+\.(py|java|txt)|tests/\S+", name)}
    assert len(files) > 40
    assert sorted(name for name in files if found(name) is None) == []


def test_its_tests_exist() -> None:
    texts = [file.read_text(encoding="utf-8") for name in NAMED if (file := found(name)) is not None and file.is_file()]
    tests = {name for name in NAMED if re.fullmatch(r"test_\w+|(?:a|what|which|headers|malformed|the)[A-Z]\w+", name)}
    assert len(tests) > 25
    assert sorted(t for t in tests if not any(re.search(rf"(def|void) {t}\(", text) for text in texts)) == []


def test_its_jobs_exist() -> None:
    jobs = {job for line in re.findall(r"^Jobs?: ((?:`\w+`(?:, )?)+)", PAGE, re.M) for job in re.findall(r"\w+", line)}
    there = {file.stem for file in (ROOT / "tests" / "chaos" / "jobs").glob("*.py")} - {"__init__", "job"}
    assert jobs == there, "each shape of query has its job, and the page names it"
