"""What the language has and the engine does not run is refused, with its place; nothing of it is left out in silence.

``unsupported.txt`` is a list of blocks as in ``tests/sql/errors.txt``: SQL, ``----``, the drawing. Set KSQLPY_REWRITE
to rewrite the drawings, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, StatementError
from ksqlpy.runtime.context import Sandbox
from ksqlpy.runtime.statements import check, statement_of
from ksqlpy.sql import Parsed, nodes, parse

FILE = Path(__file__).with_name("unsupported.txt")
BLOCKS = [block.split("\n----\n") for block in FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")]
WHOLE = parse((Path(__file__).parents[1] / "sql" / "roundtrip.sql").read_text(encoding="utf-8"))


def sandbox() -> Any:
    return Sandbox(SimpleNamespace(config=Config.of({}), open_push_queries=[]), Catalog(), {})  # type: ignore[arg-type]


def drawing(sql: str) -> str:
    with pytest.raises(AnalysisProblem) as caught:
        check(parse(sql)[0], sandbox())
    assert caught.value.span is not None
    return caught.value.render()


@pytest.mark.parametrize(("sql", "expected"), BLOCKS, ids=[block[0][:60] for block in BLOCKS])
def test_refusal_is_drawn_as_written(sql: str, expected: str) -> None:
    assert drawing(sql) == expected


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    text = "\n\n".join(f"{block[0]}\n----\n{drawing(block[0])}" for block in BLOCKS)
    FILE.write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize("statement", WHOLE, ids=lambda s: s.text[:40])
def test_statement_of_the_language_is_run_or_refused(statement: Parsed) -> None:
    entry = statement_of(statement.node)
    if entry.run is not None and not isinstance(statement.node, nodes.Show):
        return  # what its check looks at needs an engine
    try:
        check(statement, sandbox())
    except StatementError as problem:
        assert problem.code in ("unsupported-statement", "unsupported-clause", "query-not-here")
        assert problem.span is not None
    else:
        assert entry.run is not None
