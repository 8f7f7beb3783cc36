"""The written grammar and the parser agree on what people write: every statement of the tests and the examples."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import LarkError

from ksqlpy.errors import SyntaxProblem
from ksqlpy.grammar import by_place, non_reserved, reserved
from ksqlpy.sql import parse
from ksqlpy.testing import read_cases

ROOT = Path(__file__).parents[2]
GRAMMAR = (ROOT / "grammar" / "ksql.lark").read_text(encoding="utf-8")
ERRORS = (Path(__file__).with_name("errors.txt")).read_text(encoding="utf-8").strip("\n").split("\n\n")


def texts() -> Iterator[str]:
    for folder in (ROOT / "tests", ROOT / "examples"):
        for file in sorted(folder.rglob("*.test")):
            for case in read_cases(file, project="SHOW STREAMS;"):  # cases of a project need no statements
                yield case.shared
                yield case.sql
        for file in sorted(folder.rglob("*.sql")):
            if file.name != "roundtrip.sql":
                yield file.read_text(encoding="utf-8")


def statements() -> list[str]:
    """Each statement once; texts that show how one is refused are left out."""
    found: dict[str, None] = {}
    for text in texts():
        try:
            found |= dict.fromkeys(s.text for s in parse(text))
        except SyntaxProblem:
            continue
    return list(found)


@pytest.fixture(scope="module")
def grammar() -> Lark:
    return Lark(GRAMMAR, parser="earley")


PARTS = 8
LATER = pytest.mark.extended("seven of eight statements that the written grammar reads slowly")


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=LATER) for n in range(1, PARTS))])
def test_statements_of_tests_and_examples_are_in_the_grammar(grammar: Lark, part: int) -> None:
    every = statements()[part::PARTS]
    assert len(every) > 100
    for statement in every:
        try:
            grammar.parse(statement)
        except LarkError as problem:
            raise AssertionError(f"parsed, but not in the grammar: {statement}") from problem


@pytest.mark.parametrize("block", ERRORS, ids=lambda b: b.split("\n")[0])
def test_what_is_refused_is_not_in_the_grammar(block: str, grammar: Lark) -> None:
    sql, drawing = block.split("\n----\n")
    if "error[syntax-error]" in drawing or "error[unknown-" in drawing:
        with pytest.raises(LarkError):
            grammar.parse(sql)


def test_every_rule_has_a_comment() -> None:
    lines = GRAMMAR.splitlines()
    pairs = pairwise(lines)
    assert [line for before, line in pairs if re.match(r"[a-z_]+:", line) and not before.startswith("//")] == []


def test_every_word_of_the_grammar_is_in_the_lists() -> None:
    words = {w.upper() for w in re.findall(r'"([A-Za-z]+)"i', GRAMMAR)}
    assert words <= reserved() | non_reserved() | by_place() | {"VARCHAR"}
    assert by_place() <= words


def test_diagrams_are_not_stale() -> None:
    folder = ROOT / "grammar" / "railroad"
    spec = importlib.util.spec_from_file_location("make_diagrams", folder / "make.py")
    assert spec is not None and spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    files = make.diagrams(GRAMMAR)
    written = {f.name: f.read_text(encoding="utf-8") for f in folder.iterdir() if f.suffix in (".svg", ".md")}
    assert written == files, "run make grammar"
    assert {n.removesuffix(".svg") for n in files} == {*re.findall("^([a-z_]+):", GRAMMAR, re.MULTILINE), "README.md"}
