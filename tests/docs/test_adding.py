"""docs/internals/adding.md is true: what it names exists, and its samples need no file that it does not name."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "internals" / "adding.md").read_text(encoding="utf-8")

PARTS = {
    re.sub(r"^An? ", "", title): text
    for title, text in re.findall(r"^- \*\*(.+?)\*\*(.*?)(?=^- \*\*|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}

KINDS = ["function", "statement", "command of the shell", "endpoint", "property", "figure", "format", "query shape"]
KINDS += ["step in the JVM"]

_FILE = re.compile(r"`([\w*./-]+\.(?:py|java|toml|md|txt|lark|test|sql))`|`([\w/]+/)`")
_OWN = re.compile(r"\b(?:NAME|FAMILY|Name|name)(?=\b|[A-Z])")
_SAMPLE = re.compile(r"`(tests/[\w/]+)\.(py|java)`\s+is\s+one\b")


def named(text: str) -> list[str]:
    """The files and folders that a text names."""
    return [file or folder for file, folder in _FILE.findall(text)]


def exists(path: str) -> bool:
    """Whether there is such a file, from the repository or from ``ksqlpy/``; of names of one's own any."""
    pattern = _OWN.sub("*", path).rstrip("/")
    return any(next(folder.glob(pattern), None) is not None for folder in (ROOT, ROOT / "ksqlpy"))


def sample(part: str) -> Path:
    """The file of the sample of a part."""
    [(stem, suffix)] = _SAMPLE.findall(PARTS[part])
    return ROOT / f"{stem}.{suffix}"


def imported(file: Path) -> Iterator[tuple[str, ...]]:
    """What a file takes of ksqlpy: for each name the file that it comes from, or a folder that gives it on."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".java":
        yield from (
            (f"spark/jvm/{package}/{name}.java",)
            for package, name in re.findall(r"^import ksqlpy\.(\w+)\.(\w+)", text, re.M)
        )
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("ksqlpy") for alias in node.names), "from … import tells more"
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ksqlpy"):
            continue
        module = importlib.import_module(node.module or "")
        for alias in node.names:
            value = getattr(module, alias.name, None) or importlib.import_module(f"{node.module}.{alias.name}")
            homes = [node.module or "", getattr(value, "__name__", ""), getattr(value, "__module__", "")]
            yield tuple(path for home in homes if home.startswith("ksqlpy.") for path in paths(home))


def paths(module: str) -> list[str]:
    """How a page may name a module."""
    path = module.removeprefix("ksqlpy.").replace(".", "/")
    return [f"{path}/"] if (ROOT / "ksqlpy" / path).is_dir() else [f"{path}.py"]


def test_every_kind_has_a_part() -> None:
    assert sorted(PARTS) == sorted(KINDS)


def test_all_files_exist() -> None:
    files = named(PAGE)
    assert len(files) > 80
    assert [f for f in files if not exists(f)] == []
    assert exists("shell/NAME.py") and exists("formats/") and not exists("shell/specials.py")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_uses_what_its_part_names(kind: str) -> None:
    files = set(named(PARTS[kind]))
    taken = list(imported(sample(kind)))
    assert taken
    assert [homes for homes in taken if not files & set(homes)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_is_run_by_a_test(kind: str) -> None:
    made = sample(kind)
    module = ".".join(made.relative_to(ROOT).with_suffix("").parts)
    told = f"new {made.stem}(" if made.suffix == ".java" else f"from {module} import "
    tests = [
        ROOT / f for f in named(PARTS[kind]) if re.search(r"(^|/)test_\w+\.py$|Test\.java$", f) and "NameTest" not in f
    ]
    assert any(told in test.read_text(encoding="utf-8") for test in tests)
