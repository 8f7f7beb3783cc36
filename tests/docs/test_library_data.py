"""The programs in docs/library-data.md run, one after the other, with a session that has an answer for each query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from ksqlpy.notebook import _options
from ksqlpy.session.inbox import Given, Opened
from ksqlpy.session.rows import Column
from ksqlpy.session.session import Session
from ksqlpy.types import BIGINT, STRING, DecimalType

PAGE = (Path(__file__).parents[2] / "docs" / "library-data.md").read_text(encoding="utf-8")
COLUMNS = (Column("ZONE", STRING), Column("N", BIGINT), Column("FARES", DecimalType(8, 2)))


class Answers:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]:
        raise AssertionError("the page has queries only")

    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened:
        self.asked.append(sql)
        return Given("q", COLUMNS, [["Queens", 2, Decimal("3.50")]])

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        raise AssertionError("not asked for here")

    def insert(self, target: str, lines: Iterable[bytes]) -> int:
        raise AssertionError("the page has queries only")

    def close(self) -> None:
        self.closed = True


def test_the_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    answers = Answers()
    with Session(answers, "a test") as session:
        names: dict[str, Any] = {"session": session}
        for block in blocks:
            exec(compile(block, "library-data.md", "exec"), names)
    assert len(blocks) == 4
    assert "WHERE zone = 'it''s' AND fares > 0.5;" in answers.asked[0]
    assert [row.n for row in names["rows"]] == [2]
    kinds = (pyarrow.Table, pandas.DataFrame, polars.DataFrame)
    assert [type(names[n]) for n in ("table", "frame", "other")] == [*kinds]
    assert capsys.readouterr().out == "{'ZONE': 'Queens', 'N': 2, 'FARES': Decimal('3.50')}\n"


def test_the_options_of_cells_are_those_of_the_page() -> None:
    listed = re.findall(r"^\| `(--[a-z]+)", PAGE, re.MULTILINE)
    assert {*listed} == {*_options()._option_string_actions}
