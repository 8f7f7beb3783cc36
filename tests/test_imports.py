"""Imports go one way: every part of ksqlpy uses only what stands left of it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ORDER = (
    "version",
    "errors",
    "types",
    "arrowtypes",
    "topicnames",
    "figures",
    "streamsproperties",
    "asker",
    "atwork",
    "request",
    "access",
    "embedded",
    "connection",
    "registry",
    "deadletters",
    "grammar",
    "sql",
    "udfs",
    "functions",
    "catalog",
    "formats",
    "config",
    "completion",
    "logs",
    "audit",
    "tracing",
    "analysis",
    "plan",
    "reading",
    "tables",
    "spark",
    "runtime",
    "backup",
)
"""The parts, each of which may use those before it. ``__init__`` and what is below may use all of them."""

ALLOWED = {
    "embedded": {"errors"},
    "server": {*ORDER, "server", "project", "web"},
    "web": set(),
    "insertlines": set(),
    "querylines": set(),
    "client": {"errors", "types", "config", "insertlines", "querylines"},
    "shell": {"version", "errors", "figures", "grammar", "sql", "formats", "completion", "config", "client"},
    "project": {*ORDER, "client"},
    "testing": {*ORDER, "client", "local"},
    "local": set(ORDER),
    "datagen": {*ORDER, "client", "local"},
    "demo": {*ORDER, "server", "client"},
    "session": {*ORDER, "client", "shell"},
    "dbapi": {"errors", "types", "session"},
    "notebook": {"errors", "sql", "session"},
    "pytest_plugin": {*ORDER, "client", "testing", "local", "session"},
    "commands": {*ORDER, "server", "client", "shell", "project", "testing", "local", "datagen", "demo"},
    "__main__": {"version", "commands", "shell"},
    "__init__": {*ORDER, "session", "notebook"},
}
"""Parts that do not stand in the row, or whose place allows them less."""

ORDER_DEBT: set[tuple[str, str]] = set()
"""Imports against the order that are known; none may be added, and one that is gone must go from here."""

LINKS = sorted(f.name for f in (ROOT / "ksqlpy").iterdir() if f.is_symlink() and f.name != "examples")
"""The parts that lie beside ksqlpy/ in the repository."""

ENGINES = {"pyspark", "py4j"}
SPARK_DEBT: dict[str, set[str]] = {}
"""Files outside of ksqlpy/spark that still import Spark; none may be added, and one that no longer does must go."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the product with the part that it belongs to."""
    walked = os.walk(ROOT / "ksqlpy", followlinks=True)  # server/ and grammar/ are links there
    for file in sorted(Path(top, name) for top, _, names in walked for name in names if name.endswith(".py")):
        if file.is_relative_to(ROOT / "ksqlpy" / "examples"):  # programs of users, which no part imports
            continue
        yield file.relative_to(ROOT / "ksqlpy").parts[0].removesuffix(".py"), file


def imported(file: Path, *, types_too: bool = True) -> Iterator[tuple[int, str]]:
    """Line and name of all modules that a file imports, also inside of functions.

    ``types_too``: also under ``if TYPE_CHECKING``.
    """
    package = [*file.relative_to(ROOT).with_suffix("").parts]
    left: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"), str(file))]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING") and not types_too:
            left += node.orelse
            continue
        left += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: -node.level], *([node.module] if node.module else [])]) if node.level else ""
            module = base or node.module or ""
            if module == "ksqlpy":
                yield from ((node.lineno, f"ksqlpy.{a.name}") for a in node.names)
            else:
                yield node.lineno, module


def part_of(module: str) -> str | None:
    """The part of ksqlpy that a module name belongs to."""
    names = module.split(".")
    return names[1] if names[0] == "ksqlpy" and len(names) > 1 else None


def test_left_to_right() -> None:
    parts = {part for part, _ in modules()}
    assert {"grammar", "server"} == set(LINKS) < parts
    wrong, debt = [], set()
    for part, file in modules():
        if part in ALLOWED:
            allowed = ALLOWED[part]
        elif part in ORDER:
            allowed = set(ORDER[: ORDER.index(part)])
        else:
            pytest.fail(f"{file.relative_to(ROOT)}: the part {part} has no place in the order")
        for line, module in imported(file):
            used = part_of(module)
            # What stands in ksqlpy/__init__.py alone is for programs of users: no part is named so.
            if used is not None and used != part and used not in allowed:
                place = str(file.relative_to(ROOT))
                if (place, used) in ORDER_DEBT:
                    debt.add((place, used))
                else:
                    wrong.append(f"{place}:{line}: {part} imports {used}")
    assert not wrong, "\n".join(wrong)
    assert debt == ORDER_DEBT


def test_no_circles() -> None:
    """Also imports for types only and those inside of functions count."""
    found = graph()
    assert not [" → ".join(path_of(circle, found)) for circle in circles(found)]


def graph() -> dict[str, set[str]]:
    """The modules of the product, and which of them each one imports."""
    names = {name_of(file) for _, file in modules()}
    texts = {name_of(file): file.read_text(encoding="utf-8") for _, file in modules()}
    return {name: {n for n in named(text, names) if n != name} for name, text in texts.items()}


def name_of(file: Path) -> str:
    """The name under which a file is imported."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named(text: str, names: set[str]) -> Iterator[str]:
    """Those of the modules that a module's text imports: of ``from package import module`` the module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in (f"{node.module}.{a.name}" for a in node.names):
                yield from (n for n in [name if name in names else node.module] if n in names)


def circles(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """The sets of modules that can all reach each other."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        found: set[str] = set()
        left = [name]
        while left:
            for used in graph[left.pop()] - found:
                found.add(used)
                left.append(used)
        reached[name] = found
    seen: set[str] = set()
    for name, found in reached.items():
        if name in found and name not in seen:
            circle = {n for n in found if name in reached[n]}
            seen |= circle
            yield circle


def path_of(circle: set[str], graph: dict[str, set[str]]) -> list[str]:
    """A shortest way from the circle's first module back to it."""
    first = min(circle)
    ways = [[first]]
    for way in ways:
        for used in sorted(graph[way[-1]] & circle):
            if used == first:
                return [*way, first]
            if all(used not in w for w in ways):
                ways.append([*way, used])
    raise AssertionError(f"no circle: {circle}")


def test_circles_are_found() -> None:
    found = {"a": {"b"}, "b": {"c", "b2"}, "b2": {"c"}, "c": {"a", "d"}, "d": set()}
    [circle] = circles(found)
    assert circle == {"a", "b", "b2", "c"}
    assert path_of(circle, found) == ["a", "b", "c", "a"]


def test_an_import_counts_wherever_it_stands() -> None:
    text = """
from typing import TYPE_CHECKING
import json
if TYPE_CHECKING:
    from ksqlpy.one import Name
def later():
    import ksqlpy.two
    from ksqlpy import three
"""
    names = {"ksqlpy", "ksqlpy.one", "ksqlpy.two", "ksqlpy.three", "ksqlpy.four"}
    assert set(named(text, names)) == {"ksqlpy.one", "ksqlpy.two", "ksqlpy.three"}


def test_only_spark_imports_spark() -> None:
    found: dict[str, set[str]] = {}
    for part, file in modules():
        engines = {m.split(".")[0] for _, m in imported(file, types_too=False)} & ENGINES
        if engines and part != "spark":
            found[str(file.relative_to(ROOT))] = engines
    assert found == SPARK_DEBT


@pytest.mark.parametrize("name", LINKS)
def test_a_part_has_one_name(name: str) -> None:
    """From the root of a checkout, which is on the path there, ``server`` is not a second ``ksqlpy.server``."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stderr.splitlines()[-1] == f"ImportError: this is a part of ksqlpy: import ksqlpy.{name}"


def test_the_product_needs_nothing_of_development() -> None:
    """What only the extra ``dev`` installs is imported nowhere: a wheel would have modules that cannot be imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: distributions(lines) for name, lines in project["optional-dependencies"].items()}
    users = distributions(project["dependencies"]).union(*(names for name, names in extras.items() if name != "dev"))
    of_modules = packages_distributions()
    wrong = []
    for _, file in modules():
        if file.is_relative_to(ROOT / "ksqlpy" / "grammar" / "railroad"):  # the drawings' maker, which no wheel has
            continue
        for line, module in imported(file):
            given = distributions(of_modules.get(module.split(".")[0], []))
            if given & extras["dev"] and not given & users:
                wrong.append(f"{file.relative_to(ROOT)}:{line}: {module}")
    assert "psutil" in extras["dev"] - users
    assert not wrong, "\n".join(wrong)


def distributions(requirements: Iterable[str]) -> set[str]:
    """The names of distributions, written in one way: ``Prompt_Toolkit>=3`` is prompt-toolkit."""
    return {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower().replace("_", "-") for line in requirements}


def test_the_language_needs_no_spark() -> None:
    program = (
        "import sys, ksqlpy.sql, ksqlpy.analysis, ksqlpy.plan\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'py4j', 'confluent_kafka'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""
