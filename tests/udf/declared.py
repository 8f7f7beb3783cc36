"""Definitions of what a file of functions declares, made in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ksqlpy.functions import FUNCTIONS
from ksqlpy.functions.python import python_function
from ksqlpy.udfs.declare import described
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.source import declared_in_text


def here(wanted: Mapping[str, Any]) -> str:
    """The answer of a worker, without one: the file is one of the tests' own."""
    made = ModuleType(wanted["filename"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, made.__name__, made)
        exec(compile(wanted["text"], wanted["filename"], "exec"), made.__dict__)
        return json.dumps({"functions": described(vars(made))})


def definitions(name: str) -> dict[str, Definition]:
    """Those of a file beside this one, by their names."""
    file = Path(__file__).with_name(name)
    return {d.name: d for d in declared_in_text(file.read_text(encoding="utf-8"), name, here)}


@contextmanager
def functions_of(name: str) -> Iterator[None]:
    """Statements may call the functions of a file beside this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FUNCTIONS, "functions", FUNCTIONS.functions)  # is put back afterwards
        FUNCTIONS.add(*map(python_function, definitions(name).values()))
        yield
