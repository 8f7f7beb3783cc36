"""The examples that have a statement file: its statements and the page are those of the SQL file.

``tests/streams/test_streams.py`` runs their records.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ksqlpy.project.format import format_sql
from ksqlpy.sql import parse
from ksqlpy.testing import read_cases

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(file.parent for file in (ROOT / "examples").glob("*/*.test"))


def text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def without_comments(sql: str) -> str:
    return "\n".join(line for line in sql.split("\n") if not line.startswith("--"))


def test_there_are_examples() -> None:
    assert {"alerts", "word-count"} < {f.name for f in FOLDERS}
    index = text(ROOT / "examples", "README.md")
    folders = [f.name for f in (ROOT / "examples").iterdir() if (f / "README.md").exists()]
    assert set(re.findall(r"^\| \[([\w-]+)\]\(\1\)", index, re.MULTILINE)) == set(folders)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_the_cases_run_the_statements_of_the_sql_file(folder: Path) -> None:
    sql = text(folder, f"{folder.name}.sql")
    cases = read_cases(folder / f"{folder.name}.test")
    # The runner reads from the first record on in any case.
    wanted = [p.node for p in parse(sql) if not p.text.startswith("SET 'auto.offset.reset'")]
    assert [p.node for p in parse(cases[0].shared)] == wanted
    assert [c.sql for c in cases] == [""] * len(cases)
    assert format_sql(sql) == sql


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_the_page_shows_what_is_run(folder: Path) -> None:
    page = text(folder, "README.md")
    sql = without_comments(text(folder, f"{folder.name}.sql"))
    statements = [s for block in blocks(page, "sql") for s in block.strip().split("\n\n")]
    assert statements and [s for s in statements if f"{s}\n" not in sql] == []
    records = blocks(page, "records")
    assert records and [r for r in records if r not in text(folder, f"{folder.name}.test")] == []
