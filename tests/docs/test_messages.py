"""One style for all errors: messages and hints begin with a small letter and have no full stop at the end.

They follow ``error[code]: `` or stand in brackets. Names such as Spark or SELECT keep their capitals. In
``grammar/errors.toml``, from which a page is made, each is a sentence of its own: a capital, and a full stop.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[2]
NAMES = {"Avro", "Java", "Kafka", "Protobuf", "PySpark", "Python", "Spark"}
SECTIONS = tomllib.loads((ROOT / "grammar" / "errors.toml").read_text(encoding="utf-8"))
CODES = {code: texts for section in SECTIONS.values() for code, texts in section.items()}
DRAWN = re.compile(r"^.*?error\[[a-z0-9-]+\]: (.+)$|^ = hint: (.+)$", re.MULTILINE)
SOURCES = sorted(f for part in ("ksqlpy", "server") for f in (ROOT / part).rglob("*.py"))
FILES = sorted(
    f
    for part in ("tests", "docs", "examples")
    for end in ("test", "txt", "md")
    for f in (ROOT / part).rglob(f"*.{end}")
)


def fault(text: str) -> str:
    """What the text of an error has that others have not."""
    word = re.match(r"[A-Z][a-z]\w*|A (?=[a-z])", text)
    if word and word.group() not in NAMES:
        return f"begins with a capital: {text}"
    if text.endswith(("!", ".")) and not text.endswith("..."):
        return f"ends with {text[-1]}: {text}"
    return ""


def texts(node: ast.expr, known: Mapping[str, list[ast.expr]]) -> Iterator[str]:
    """What an expression gives, with {} for each part that is not known."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body, known), *texts(node.orelse, known))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        begins, ends = (list(texts(side, known)) or ["{}"] for side in (node.left, node.right))
        yield from (begin + end for begin in begins for end in ends)
    elif isinstance(node, ast.Name):
        yield from (text for value in known.get(node.id, []) for text in texts(value, {}))


def said(scope: ast.AST, outer: Mapping[str, list[ast.expr]] = MappingProxyType({})) -> Iterator[tuple[int, str]]:
    """The lines and texts of messages, which stand behind a code, and of hints; ``outer``: what names hold around."""
    inside, functions, left = list[ast.AST](), list[ast.AST](), list(ast.iter_child_nodes(scope))
    while left:
        node = left.pop()
        inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        (functions if inner else inside).append(node)
        left += [] if inner else ast.iter_child_nodes(node)
    known: dict[str, list[ast.expr]] = defaultdict(list)
    for node in inside:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id].append(node.value)
    known = defaultdict(list, {**outer, **known})
    for node in inside:
        values = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
        found = [b for a, b in pairwise(values) if any(t in CODES for t in texts(a, {}))]
        found += [k.value for k in node.keywords if k.arg == "hint"] if isinstance(node, ast.Call) else []
        found = [value for value in found if isinstance(value, ast.expr)]
        yield from ((node.lineno, text) for value in found for text in texts(value, known))
    for function in functions:
        yield from said(function, known)


def test_messages_in_the_code() -> None:
    found = [(f, line, text) for f in SOURCES for line, text in said(ast.parse(f.read_text(encoding="utf-8")))]
    assert len(found) > 900
    assert [f"{f.relative_to(ROOT)}:{line} {why}" for f, line, text in found if (why := fault(text))] == []


def test_messages_in_the_files_of_the_tests() -> None:
    drawn = [(f, a or b) for f in FILES for a, b in DRAWN.findall(f.read_text(encoding="utf-8"))]
    assert len(drawn) > 500
    assert [
        f"{f.relative_to(ROOT)}: {why}" for f, text in drawn if (why := fault(text.removeprefix("A ")))
    ] == []  # a name


def test_descriptions_are_sentences() -> None:
    """Some begin with the name of a program or command, or end with a piece of SQL."""
    begin = re.compile(r"[A-Z]|ksqlpy |sqlglot |pip |help; |\\f ")
    described = [(code, text) for code, pair in CODES.items() for text in pair]
    assert [x for x in described if not (begin.match(x[1]) and x[1].endswith((".", ";", "…")))] == []


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ('raise ConfigProblem("bad-paths", "Two paths")', 1),
        ('raise ConfigProblem("bad-paths", f"{paths} are two.", hint="give one.")', 2),
        ('message = "Two paths" if two else "no path"\nrefuse("bad-paths", message)', 1),
        ('ODD = [("bad-paths", "two" + ".")]', 1),
        ('raise ConfigProblem("bad-paths", "Spark\'s paths are two", hint="SELECT")', 0),
    ],
)
def test_a_fault_is_found(source: str, faults: int) -> None:
    assert len([text for _, text in said(ast.parse(source)) if fault(text)]) == faults
