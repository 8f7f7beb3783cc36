"""What is said of statements holds for ``check``, ``query`` and ``test``, too: no server is there to be spoken of."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ksqlpy"


@pytest.mark.parametrize("part", ["sql", "analysis", "formats", "plan", "local"])
def test_what_is_said_of_statements_speaks_of_no_server(part: str) -> None:
    said = []
    for file in sorted((PACKAGE / part).rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        about = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
        said += [
            f"{file.name}:{n.lineno}: {n.value}"
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in about
            if "server" in n.value.replace(".", " ").split()
        ]
    assert said == []
