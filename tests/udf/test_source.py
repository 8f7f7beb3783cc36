"""From files of functions to definitions: a worker runs the file, and says what it declares, or what is wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ksqlpy.errors import AnalysisProblem
from ksqlpy.types import BIGINT, STRING
from ksqlpy.udfs import pool
from ksqlpy.udfs.pool import CallFailed, Settings, Workers
from ksqlpy.udfs.source import declared_in_module, declared_in_text

FILE = '''
"""Functions of orders."""
import os
from dataclasses import dataclass
from typing import Annotated
import decimal

from ksqlpy import udaf, udf, udtf

Money = Annotated[decimal.Decimal, "DECIMAL(10, 2)"]
RATE = decimal.Decimal("0.20")

@dataclass
class Item:
    name: str
    price: Money | None

def rounded(value: decimal.Decimal) -> decimal.Decimal:
    return value.quantize(decimal.Decimal("0.01"))

@udf
def with_tax(item: Item) -> Item:
    """Adds the tax.

    At a fixed rate.
    """
    return Item(item.name, rounded(item.price * (1 + RATE)) if item.price is not None else None)

@udtf
def names(items: list[Item]) -> list[str]:
    return [i.name for i in items]

@udaf
class total:
    def init(self) -> Money:
        return decimal.Decimal(0)
    def add(self, state: Money, item: Item) -> Money:
        return rounded(state + item.price)
    def result(self, state: Money) -> Money:
        return state

@udf
def process() -> int:
    return os.getpid()
'''


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "orders_of_a_user.py").write_text(FILE, encoding="utf-8")
    made = Workers(Settings(path=(str(folder),)))
    yield made
    made.close()


def test_a_file_of_several_functions(workers: Workers) -> None:
    found = declared_in_text(FILE, "functions/orders.py", workers.describe)
    assert [(d.name, d.kind, d.callable) for d in found] == [
        ("WITH_TAX", "SCALAR", "with_tax"),
        ("NAMES", "TABLE", "names"),
        ("TOTAL", "AGGREGATE", "total"),
        ("PROCESS", "SCALAR", "process"),
    ]
    with_tax, names, total, _ = found
    item = "STRUCT<`NAME` STRING, `PRICE` DECIMAL(10, 2)>"
    assert [(n, str(t)) for n, t in with_tax.parameters] == [("ITEM", item)]
    assert (str(with_tax.returns), with_tax.help) == (item, "Adds the tax.")
    assert ([(n, str(t)) for n, t in names.parameters], names.returns) == ([("ITEMS", f"ARRAY<{item}>")], STRING)
    assert (str(total.state), total.undo, total.merge) == ("DECIMAL(10, 2)", False, False)
    assert all(d.body == FILE and not d.module_digest for d in found)


def test_definitions_are_called_with_objects_of_the_annotated_classes(workers: Workers) -> None:
    with_tax, names, _, process = declared_in_text(FILE, "functions/orders.py", workers.describe)
    pen, gift = {"NAME": "pen", "PRICE": Decimal("1.10")}, {"NAME": "gift", "PRICE": None}
    assert workers.call(with_tax, [pen]) == {"NAME": "pen", "PRICE": Decimal("1.32")}
    assert workers.call(with_tax, [gift]) == gift
    assert workers.call(names, [[pen, gift]]) == ["pen", "gift"]
    assert process.returns == BIGINT and workers.call(process, []) != os.getpid()


def test_an_installed_module(workers: Workers, tmp_path: Path) -> None:
    found = declared_in_module("orders_of_a_user", workers.describe)
    assert [d.callable for d in found] == [f"orders_of_a_user:{n}" for n in ("with_tax", "names", "total", "process")]
    assert {(d.body, d.module_digest) for d in found} == {("", hashlib.sha256(FILE.encode()).hexdigest())}
    assert workers.call(found[0], [{"NAME": "pen", "PRICE": Decimal(1)}]) == {"NAME": "pen", "PRICE": Decimal("1.20")}


def test_a_file_that_declares_nothing(workers: Workers) -> None:
    assert declared_in_text("def helper(): pass", "functions/none.py", workers.describe) == ()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("import ksqlpy\n\ndef f(:\n", "bad-functions-file", "f.py:3: SyntaxError: invalid syntax"),
        (
            "\nimport nowhere_to_be_found",
            "bad-functions-file",
            "f.py:2: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("def f():\n    return 1 / 0\n\nf()", "bad-functions-file", "f.py:2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "bad-functions-file", "f.py:2: SystemExit: 3"),
        ("import os\nos._exit(3)", "bad-functions-file", "f.py: its worker has ended"),
        (
            "while True: pass",
            "bad-functions-file",
            ("f.py:1: TimeoutError: the time limit has passed", "f.py: it took longer than 1000 ms"),
        ),
        (
            "from ksqlpy import Engine",
            "bad-functions-file",
            "f.py:1: ImportError: cannot import name 'Engine' from 'ksqlpy'",
        ),
        (
            "import ksqlpy\n\n@ksqlpy.udf\ndef f(a: complex) -> int:\n    return 1",
            "bad-annotation",
            "f.py:3: f: parameter a: complex is no type of SQL",
        ),
        (
            "from typing import Annotated\nimport ksqlpy\n@ksqlpy.udf\ndef f(a: Annotated[int, 'LONGINT']) -> int:\n"
            "    return 1",
            "bad-annotation",
            "f.py:3: f: parameter a: LONGINT is no type of SQL",
        ),
        (
            "from typing import Annotated\nimport ksqlpy\n@ksqlpy.udf\ndef f() -> Annotated[int, 'INT; DROP']:\n"
            "    return 1",
            "bad-annotation",
            "f.py:3: f: the result: INT; DROP is no type of SQL",
        ),
        (
            "import ksqlpy\n\n@ksqlpy.udf\ndef f(a: int = 1) -> int:\n    return 1",
            "bad-declaration",
            "f.py:3: f: a has a default, which SQL does not know",
        ),
    ],
)
def test_what_is_wrong_with_a_file(
    text: str, code: str, message: str | tuple[str, ...], workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LOADING", 1.0 if text.startswith("while") else 30.0)
    with pytest.raises(AnalysisProblem) as refused:
        declared_in_text(text, "f.py", workers.describe)
    assert refused.value.code == code
    assert refused.value.message.startswith(message)


def test_a_file_leaves_nothing_behind(workers: Workers) -> None:
    """Each runs in a worker of its own."""
    text = "import sys\nif hasattr(sys, 'seen'):\n    raise ValueError('seen')\nsys.seen = True"
    for _ in range(3):
        assert declared_in_text(text, "f.py", workers.describe) == ()


STATE = """
class total:
    def init(self): return ""
    def add(self, state, n): return state + "x" * n
    def result(self, state): return len(state)
"""


def test_workers_know_the_largest_size_of_a_state() -> None:
    """Only of a state: ``worker.py`` gets it with the method's types."""
    from ksqlpy.udfs.definition import MOST_STATE, Definition

    made = Definition("TOTAL", "AGGREGATE", (("n", BIGINT),), BIGINT, STATE, "total", state=STRING)
    assert [made.to_call(m).get("most") for m in ("init", "add", "result")] == [MOST_STATE, MOST_STATE, None]


def test_a_call_fails_with_the_line_of_the_file(workers: Workers) -> None:
    [found] = declared_in_text(
        "import ksqlpy\n\n@ksqlpy.udf\ndef f(a: int) -> int:\n    return 1 // a", "f.py", workers.describe
    )
    with pytest.raises(CallFailed, match=r"ZeroDivisionError: .* \(line 5\)"):
        workers.call(found, [0])
