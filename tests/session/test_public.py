"""What programs import: these names with these signatures, loaded when they are used first.

``KSQLPY_REWRITE=1 pytest tests/session/test_public.py`` writes ``public.txt`` again.
"""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ksqlpy

FILE = Path(__file__).parent / "public.txt"
HEAVY = {"pyspark", "py4j", "confluent_kafka", "fastapi", "httpx", "prompt_toolkit", "sqlglot", "orjson", "pyarrow"}


def described(name: str, value: object) -> Iterator[str]:
    """A line for what it is, and one for each public member of a class of the library."""
    if not inspect.isclass(value):
        yield f"{name}{inspect.signature(value)}" if callable(value) else name
        return
    yield f"class {name}({', '.join(b.__name__ for b in value.__bases__)})"
    if not value.__module__.startswith("ksqlpy.session"):
        return
    yield f"    {name}{inspect.signature(value)}"
    for member, found in sorted(vars(value).items()):
        if member.startswith("_") and member not in SPECIAL:
            continue
        if isinstance(found, property):
            assert found.fget is not None
            yield f"    {member} -> {inspect.signature(found.fget).return_annotation}"
        elif inspect.isfunction(found):
            kind = "async " if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found) else ""
            yield f"    {kind}{member}{inspect.signature(found)}"


SPECIAL = {"__aenter__", "__aiter__", "__anext__", "__await__", "__contains__", "__enter__", "__getitem__", "__iter__"}
SPECIAL |= {"__next__", "__arrow_c_stream__"}


def test_signatures_are_those_of_before() -> None:
    text = "\n".join(line for name in sorted(ksqlpy.__all__) for line in described(name, getattr(ksqlpy, name))) + "\n"
    if os.environ.get("KSQLPY_REWRITE"):
        FILE.write_text(text, encoding="utf-8")
    assert text == FILE.read_text(encoding="utf-8"), "programs depend on them; a new name is added by KSQLPY_REWRITE=1"


def test_names_lead_to_what_is_imported_for_types() -> None:
    tree = ast.parse(Path(ksqlpy.__file__).read_text(encoding="utf-8"))
    [block] = [n for n in tree.body if isinstance(n, ast.If)]
    imported = {a.name: n.module for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert {name: f"ksqlpy.{file}" for name, file in ksqlpy._PLACES.items()} == imported
    assert sorted({*imported, "__version__"}) == sorted(ksqlpy.__all__)
    assert set(ksqlpy.__all__) <= set(dir(ksqlpy))
    with pytest.raises(AttributeError, match="no attribute 'engine'"):
        _ = ksqlpy.engine  # type: ignore[attr-defined]  # that is the point


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        ("import ksqlpy", set()),
        ("from ksqlpy import KsqlError", set()),
        ("from ksqlpy import connect", {"httpx"}),
        ("from ksqlpy import Engine, AsyncEngine", {"orjson"}),
    ],
)
def test_what_an_import_loads(program: str, needed: set[str]) -> None:
    told = f"import sys\n{program}\nprint(*sorted({{m.split('.')[0] for m in sys.modules}} & {HEAVY!r}))"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=FILE.parents[2])
    assert set(done.stdout.split()) - {"orjson"} == needed - {"orjson"}
