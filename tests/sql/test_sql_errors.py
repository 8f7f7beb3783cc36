"""Refusals, drawn as people see them.

``errors.txt`` is a list of blocks: SQL, a line ``----``, the drawing, a blank line. Set the environment variable
KSQLPY_REWRITE to rewrite the drawings, and read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlglot import exp, parse_one

from ksqlpy.errors import EnvironmentProblem, SyntaxProblem
from ksqlpy.sql import parse, to_sql
from ksqlpy.sql.environment import check_sqlglot
from ksqlpy.sql.expressions import MAX_DEPTH, MAX_HEIGHT

FILE = Path(__file__).with_name("errors.txt")
BLOCKS = [block.split("\n----\n") for block in FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")]


def drawing(sql: str) -> str:
    with pytest.raises(SyntaxProblem) as caught:
        parse(sql)
    assert caught.value.sql == sql
    assert caught.value.span is not None
    return caught.value.render()


@pytest.mark.parametrize(("sql", "expected"), BLOCKS, ids=[block[0] for block in BLOCKS])
def test_refusal_is_drawn_as_written(sql: str, expected: str) -> None:
    assert drawing(sql) == expected


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    text = "\n\n".join(f"{block[0]}\n----\n{drawing(block[0])}" for block in BLOCKS)
    FILE.write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 10_000,
        "SELECT " + "(" * 10_000 + "1" + ")" * 10_000 + " FROM s;",
        "SELECT " + "NOT " * 10_000 + "a FROM s;",
        "SELECT " + "- " * 10_000 + "a FROM s;",
        "SELECT " + "CASE WHEN " * 10_000,
        "SELECT " + "a[" * 10_000,
        "SELECT " + "f(x => " * 10_000,
        "SELECT a" + "->a" * 10_000 + " FROM s;",
        "SELECT a" + " + a" * 10_000 + " FROM s;",
        "SELECT " + "(" * 60 + "a" + (" + a" * 100 + ")") * 60 + " FROM s;",
        "CREATE STREAM s (a " + "ARRAY<" * 10_000,
        "CREATE STREAM s (a INT" + " ARRAY" * 10_000 + ");",
    ],
    ids=range(12),
)
def test_deep_statement_is_refused_in_time(text: str) -> None:
    begin = time.process_time()
    assert "[statement-too-deep]" in drawing(text)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    "expression",
    [
        "(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1),
        "NOT " * (MAX_DEPTH - 1) + "a",
        "(a OR " * (MAX_DEPTH // 2 - 1) + "a" + ")" * (MAX_DEPTH // 2 - 1),
        "f(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1),
        " + ".join("a" * (MAX_HEIGHT - 5)),
        " - b + ".join("a" * (MAX_HEIGHT // 2 - 5)),
        "CASE WHEN a THEN " * (MAX_DEPTH - 9) + "1" + " END" * (MAX_DEPTH - 9),
    ],
    ids=range(7),
)
def test_statement_at_the_limit_goes_through(expression: str) -> None:
    [statement] = parse(f"SELECT {expression} FROM s;")
    assert parse(to_sql(statement.node) + ";")[0].node == statement.node


def test_caller_deep_in_the_stack_gets_a_refusal_too() -> None:
    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            parse("SELECT " + "(" * 90 + "a" + ")" * 90 + " FROM s;")

    frame, used = sys._getframe(), 0
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1
    with pytest.raises(SyntaxProblem, match="nested too deeply"):
        descend(sys.getrecursionlimit() - used - 100)


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "'" * 1_000_001, "/*" * 500_000, "SELECT '" + "''" * 500_000, "1" * 1_000_000, "(;" * 100_000],
    ids=range(6),
)
def test_megabyte_of_nonsense_is_refused_in_time(text: str) -> None:
    begin = time.process_time()
    drawing(text)
    assert time.process_time() - begin < 5


def test_compiled_sqlglot_is_refused() -> None:
    check_sqlglot()
    with pytest.raises(EnvironmentProblem) as caught:
        check_sqlglot("/x/sqlglot/parser.cpython-311-x86_64-linux-gnu.so")
    assert "pip uninstall sqlglotc" in caught.value.summary()


_COMPILED = """
import sqlglot.parser, sqlglot.generator
from sqlglot import exp

def refuse(cls, **kwargs):
    raise TypeError("interpreted classes cannot inherit from compiled")

for base in (exp.Expression, sqlglot.parser.Parser, sqlglot.generator.Generator):
    base.__init_subclass__ = classmethod(refuse)
sqlglot.parser.__file__ = "/x/sqlglot/parser.cpython-311-x86_64-linux-gnu.so"
from ksqlpy.errors import EnvironmentProblem
try:
    import ksqlpy.sql
except EnvironmentProblem as problem:
    print(problem.code)
"""


def test_compiled_sqlglot_is_refused_before_its_classes_are_used() -> None:
    done = subprocess.run([sys.executable, "-c", _COMPILED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("compiled-sqlglot\n", "")


def test_foreign_nodes_are_not_printed() -> None:
    with pytest.raises(ValueError, match="Union is not part of the language"):
        to_sql(parse_one("SELECT 1 UNION SELECT 2"))


def test_dialect_works_through_sqlglot() -> None:
    tree = parse_one("select a from s where b = `c d` emit changes", read="ksql")
    assert tree.sql(dialect="ksql") == "SELECT A FROM S WHERE B = `c d` EMIT CHANGES"
    assert isinstance(tree, exp.Select)
    with pytest.raises(SyntaxProblem):
        parse_one("select 1 from s union select 2 from s", read="ksql")
