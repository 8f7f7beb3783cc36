"""Names of system columns stand once: for Python in ``spark/columns.py``, for Java in ``jvm/steps/Col.java``."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import ksqlpy
from ksqlpy.spark.columns import SEEN_GROUP, Cell, Col, SeenOfGroup, SeenOfTable, StepCol
from ksqlpy.spark.rows import RowShape

ROOT = Path(inspect.getfile(ksqlpy)).parent
SPARK = ROOT / "spark"
CELLS = {v for k, v in vars(Cell).items() if k.isupper()}
SYSTEM = {str(c) for c in (*Col, *StepCol)}


def literals(text: str) -> Iterator[tuple[str, str]]:
    """The function, and the text, of each string that is no docstring; an inner function is part of its outer one."""
    tree = ast.parse(text)
    docs = {n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    bodies = [m for n in tree.body for m in (n.body if isinstance(n, ast.ClassDef) else [n])]
    for node in bodies:
        name = f"{node.name}:{node.lineno}" if isinstance(node, ast.FunctionDef) else ""
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part not in docs:
                yield name, part.value


def named(text: str) -> Iterator[tuple[str, str]]:
    """The function, and the name, of each column that a string names."""
    return ((f, n) for f, s in literals(text) for n in re.findall(r"(?<!\w)__[a-z]\w*", s))


def faults(files: dict[str, str]) -> list[str]:
    """The names that do not belong to one function, of modules by their names and texts."""
    found = defaultdict(set)
    for file, text in files.items():
        for function, name in named(text):
            found[name].add((file, function))
    return sorted(
        name
        for name, places in found.items()
        if len(places) > 1 or any(not function for _, function in places) or name in SYSTEM | CELLS
    )


def test_a_column_that_two_functions_name_is_a_constant() -> None:
    rows = re.compile(r"^from ksqlpy\.spark\.(columns|rows) import", re.MULTILINE)
    texts = {str(f): f.read_text(encoding="utf-8") for f in SPARK.rglob("*.py") if f.name != "columns.py"}
    makers = {f: t for f, t in texts.items() if rows.search(t)}
    assert len(makers) > 20 and all(str(f) in makers for f in (SPARK / "output.py", SPARK / "operators" / "scan.py"))
    assert faults(makers) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('def a():\n    """Of ``__own``."""\n    return "last(__own)", f"__own.{1}"\n', []),
        ('def a(): return "last(__own)"\ndef b(): return f"__own IS NULL"\n', ["__own"]),
        ('_OWN = "__own"\n', ["__own"]),
        ('def a(): return "__raw"\n', ["__raw"]),
        ('class A:\n    def a(self): return "__own"\n    def b(self): return "__own"\n', ["__own"]),
    ],
)
def test_what_a_name_that_belongs_to_no_function_is(text: str, found: list[str]) -> None:
    assert faults({"a.py": text}) == found


def test_no_other_module_names_system_columns() -> None:
    own = {SPARK / "columns.py", ROOT / "analysis" / "typed.py"}
    others = [f for f in ROOT.rglob("*.py") if f not in own and "functions" not in f.relative_to(ROOT).parts]
    assert len(others) > 300
    # Parameters of lambdas in the text of functions have some of these names, too.
    names = {str(c) for c in Col}
    assert [(str(f), n) for f in others for _, n in named(f.read_text(encoding="utf-8")) if n in names] == []


def test_each_name_stands_for_one_column() -> None:
    names = [*Col.__members__.values(), *StepCol.__members__.values(), *CELLS, SEEN_GROUP]
    assert [n for n, count in Counter(map(str, names)).items() if count > 1] == []


def test_steps_have_the_names_of_python() -> None:
    java = {f: f.read_text(encoding="utf-8") for f in (SPARK / "jvm").rglob("*.java")}
    own = SPARK / "jvm" / "steps" / "Col.java"
    told = dict(re.findall(r'static final String (\w+) = "(\w+)";', java[own]))
    assert len(told) > 20
    assert told == {n: str(c) for n, c in {**Col.__members__, **StepCol.__members__}.items() if n in told}
    assert [f.name for f, text in java.items() if re.search(r'"[^"\n]*\b__[a-z]', text)] == [own.name]
    used = {n for f, text in java.items() if f.parent == own.parent for n in re.findall(r"\bCol\.(\w+)", text)}
    assert used == set(told)


def test_a_shape_goes_by_what_its_columns_are() -> None:
    shape = RowShape(("ID", "__k0", SeenOfTable.of(0), SEEN_GROUP, SeenOfGroup.of(3), Col.RAW, Col.ROW))
    assert shape.system == ("__seen0", "__seen_group", "__seen_3", "__raw", "__row")
    assert shape.seen_of_tables == ("__seen0",) and shape.seen_of_group == ("__seen_group", "__seen_3")
    assert shape.numbered and not shape.windowed
    looks = RowShape(("ID", "__seen0", "__seen_3", "__row"))
    assert looks.system == () and looks.seen == () and not looks.numbered
