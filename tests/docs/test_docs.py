"""Pages of the documentation that follow from code are up to date, and no error code is missing."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.__main__ import main
from ksqlpy.version import __version__

ROOT = Path(__file__).parents[2]

COMPUTED = {"http-4xx", "other-cluster", "other-command-log", "other-service"}
"""Codes that are put together at run time: ``http-404`` and the like, and ``ksqlpy/spark/folder_owner.py``."""


def make() -> Any:
    spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "page", ["error-codes.md", "configuration.md", "sql-statements.md", "formats.md", "metrics.md"]
)
def test_page_is_up_to_date(page: str) -> None:
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == make().PAGES[page](), "run make docs"


@pytest.mark.parametrize("page", ["sql-reference.md", "joins-and-windows.md", "queries.md"])
def test_the_statements_of_a_page_are_legal(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "page.sql"
    script.write_text("\n".join(blocks), encoding="utf-8")
    assert len(blocks) > 5
    assert main(["check", str(script)]) == 0, capsys.readouterr().out


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    pages += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []


def test_a_version_has_notes_everywhere() -> None:
    text = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "README.md")}
    assert f"\n## [{__version__}] - " in text["CHANGELOG.md"]
    notes = f"docs/releases/{__version__}.md"
    assert (ROOT / notes).read_text(encoding="utf-8").startswith(f"# ksqlpy {__version__}\n")
    assert notes in text["CHANGELOG.md"] and notes in text["README.md"]
    chart = (ROOT / "examples" / "kubernetes" / "chart" / "Chart.yaml").read_text(encoding="utf-8")
    assert f'\nversion: {__version__}\nappVersion: "{__version__}"\n' in chart


def test_long_files_say_why() -> None:
    parts = [ROOT / name for name in ("ksqlpy", "server", "grammar", "tests", "bench", "docs")]
    files = [f for part in parts for f in part.rglob("*.*")]
    texts = {f: f.read_text(encoding="utf-8").splitlines() for f in files if f.suffix in (".py", ".java")}
    long = [f for f, lines in texts.items() if len(lines) > 600]
    silent = [f for f in long if not any("onger than other" in line for line in texts[f][:60])]
    assert [str(f.relative_to(ROOT)) for f in silent] == [], "split it, or say why not, as CONTRIBUTING.md asks"


def test_every_error_code_is_described() -> None:
    sections = tomllib.loads((ROOT / "grammar" / "errors.toml").read_text(encoding="utf-8"))
    described = [code for section in sections.values() for code in section]
    assert sorted(described) == sorted(set(described))
    assert set(described) == raised() | COMPUTED


def raised() -> set[str]:
    """The codes that the program gives to its errors, and to functions that take a ``code``."""
    trees = [
        ast.parse(f.read_text(encoding="utf-8")) for part in ("ksqlpy", "server") for f in (ROOT / part).rglob("*.py")
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    errors = {"KsqlError"}
    classes = [n for n in nodes if isinstance(n, ast.ClassDef)]
    while more := {c.name for c in classes if {name(b) for b in c.bases} & errors} - errors:
        errors |= more
    places: dict[str, set[int]] = defaultdict(set)  # where the code stands among the arguments
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            names = [a.arg for a in node.args.args if a.arg not in ("self", "cls")]
            places[node.name] |= {i for i, n in enumerate(names) if n == "code"}
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Call):
            indexes = {0} if name(node.func) in errors else places.get(name(node.func), set())
            given = [node.args[i] for i in indexes if i < len(node.args)]
            given += [k.value for k in node.keywords if k.arg == "code" and (indexes or name(node.func) == "__init__")]
            found |= {code for value in given for code in codes(value)}
    # The class of errors of statement files names its code itself.
    return found | {code for c in classes if c.name in errors for code in own(c)}


def name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def codes(value: ast.expr) -> set[str]:
    values = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    texts = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    return {text for text in texts if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", text)}


def own(error: ast.ClassDef) -> set[str]:
    calls = [n for n in ast.walk(error) if isinstance(n, ast.Call) and name(n.func) == "__init__" and n.args]
    return {code for call in calls for code in codes(call.args[0])}
