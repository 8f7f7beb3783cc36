"""What is declared by decorators: the examples in ``declarations.txt``.

A block is a file of a user's, ``----``, and what it declares, a line each, or the refusal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ksqlpy
from ksqlpy.udfs import declare
from ksqlpy.udfs.declare import DeclarationError, described

FILE = Path(__file__).with_name("declarations.txt")
EXAMPLES = [block.split("\n----\n") for block in FILE.read_text(encoding="utf-8").strip("\n").split("\n====\n")]


def module(text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The text as a module, as a worker makes it."""
    made = ModuleType("functions_of_a_user")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(text, "functions.py", "exec"), made.__dict__)
    return made


def line(one: dict[str, Any]) -> str:
    parameters = ", ".join(f"{n} {t}" for n, t in one["parameters"])
    parts = [f"{one['kind']} {one['name']}({parameters}) → {one['returns']}"]
    parts += [f"state {one['state']}"] if "state" in one else []
    parts += [] if one["deterministic"] else ["not deterministic"]
    parts += [f"on error {one['on_error']}"] if one["on_error"] != "null" else []
    parts += [f"{one['timeout_ms']} ms"] if one["timeout_ms"] != 1000 else []
    parts += [word for word in ("undo", "merge") if one[word]]
    return ", ".join(parts) + (f": {one['help']}" if one["help"] else "")


@pytest.mark.parametrize(("text", "expected"), EXAMPLES, ids=[f"block{i}" for i in range(1, len(EXAMPLES) + 1)])
def test_examples(text: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        found = "\n".join(map(line, described(vars(module(text, monkeypatch)))))
    except DeclarationError as e:
        assert str(e) == f"functions.py:{e.line}: {e.message}"
        found = f"{e.code} in line {e.line}: {e.message}"
    assert found == expected


STATISTICS = """
from dataclasses import dataclass
import ksqlpy

@dataclass
class State:
    total: float
    marks: list["Mark"]

@dataclass
class Mark:
    at: int

@ksqlpy.udf
def far(mark: Mark, by: int) -> Mark:
    return Mark(mark.at + by)

@ksqlpy.udaf
class Total:
    def init(self) -> State:
        return State(0.0, [])

    def add(self, state: State, value: float, mark: Mark) -> State:
        return State(state.total + value, [*state.marks, mark])

    def result(self, state: State) -> float:
        return state.total
"""


def test_what_is_decorated_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the user's calls it without SQL."""
    user: Any = module(STATISTICS, monkeypatch)
    assert user.far(user.Mark(1), 2) == user.Mark(3)
    total = user.Total()
    assert total.result(total.add(total.init(), 1.5, user.Mark(1))) == 1.5


def test_values_of_sql_become_objects_of_the_annotated_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    user: Any = module(STATISTICS, monkeypatch)
    call = user.far.__ksqlpy__.call(user.far)
    assert call({"AT": 1}, 2) == user.Mark(3)
    methods = user.Total.__ksqlpy__.methods(user.Total)
    assert sorted(methods) == ["add", "init", "result"]
    known = {"TOTAL": 1.0, "MARKS": [{"AT": 7}, None]}
    assert methods["add"](known, 0.5, {"AT": 8}) == user.State(1.5, [user.Mark(7), None, user.Mark(8)])
    assert methods["result"]({"TOTAL": 2.0, "MARKS": []}) == 2.0


def test_values_that_are_there_already_are_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    user: Any = module("import ksqlpy\n@ksqlpy.udf\ndef f(a: list[int]) -> int:\n    return len(a)", monkeypatch)
    assert user.f.__ksqlpy__.call(user.f) is user.f


def test_only_what_a_module_declares_itself_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module(STATISTICS, monkeypatch).__name__ = "functions_of_a_user"
    imported = ModuleType("another")
    exec("from functions_of_a_user import far\nnear = far\nnumber = 1", imported.__dict__)
    assert described(vars(imported)) == []


def test_the_decorators_are_public() -> None:
    assert (ksqlpy.udf, ksqlpy.udaf, ksqlpy.udtf) == (declare.udf, declare.udaf, declare.udtf)
