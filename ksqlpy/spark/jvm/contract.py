"""The private members of Spark, its connector, Kafka's clients and PySpark that ksqlpy uses: are they there?

``spark_internals.txt`` lists them: first those without which no query runs, then those that a speed-up uses besides.
Java's are looked for in the class files, so that no JVM is needed.
"""

from __future__ import annotations

import contextlib
import dis
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from ksqlpy.spark.jvm.class_files import Library, Member

__all__ = ["CONTRACT", "Missing", "contract", "missing", "missing_in_java", "missing_in_python", "speedups"]

CONTRACT = Path(__file__).with_name("spark_internals.txt")


def contract(section: str) -> dict[str, set[str]]:
    """Members by class; ``linked`` ones our classes name, ``by name`` ones they, or Python, find when they run.

    ``python``: the attributes that ``spark/gateway.py`` uses. Those of a speed-up: ``speed-up NAME linked`` and
    ``speed-up NAME by name``. Empty for a section that is not there.
    """
    found: dict[str, set[str]] = {}
    now = owner = ""
    for line in CONTRACT.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            now = line.removeprefix("== ")
        elif now == section and line.startswith("  "):
            found[owner].add(line.strip())
        elif now == section and line:
            owner = line
            found[owner] = set()
    return found


def speedups() -> list[str]:
    """The names of the speed-ups that use members of their own."""
    found = re.findall(r"^== speed-up (\S+) ", CONTRACT.read_text(encoding="utf-8"), re.MULTILINE)
    return list(dict.fromkeys(found))


class Missing(NamedTuple):
    """What is missing, each as ``class`` or ``class: member``."""

    required: list[str]
    speedups: dict[str, list[str]]
    """By speed-up; those that lack nothing are left out."""


def missing(jars: Iterable[Path]) -> Missing:
    """What is missing in these jars and in PySpark."""
    with contextlib.closing(Library(jars)) as library:

        def found(part: str) -> list[str]:
            sections = (f"{part}linked", f"{part}by name")
            return [m for section in sections for m in missing_in_java(library, contract(section))]

        required = [*found(""), *missing_in_python(contract("python"))]
        return Missing(required, {name: lacking for name in speedups() if (lacking := found(f"speed-up {name} "))})


def missing_in_java(library: Library, members: dict[str, set[str]]) -> Iterator[str]:
    """Those of classes in jars."""
    for owner, wanted in members.items():
        if library.find(owner) is None:
            yield owner
            continue
        there: set[str] = set()
        waiting = [owner]
        while waiting:
            found = library.find(waiting.pop())
            if found is not None:
                there |= {Member(owner, name, d).text for name, d in found.declared}
                waiting += found.parents
        yield from (f"{owner}: {m}" for m in sorted(wanted - there))


def missing_in_python(members: dict[str, set[str]]) -> Iterator[str]:
    """Those of modules and classes of PySpark."""
    for owner, wanted in members.items():
        try:
            found = pkgutil.resolve_name(owner)
        except (ImportError, AttributeError):
            yield owner
            continue
        yield from (f"{owner}: {m}" for m in sorted(wanted) if not _has(found, m))


def _has(owner: Any, member: str) -> bool:
    """Whether it has the attribute, or a method of it sets the attribute of its objects."""
    if hasattr(owner, member):
        return True
    methods = [m for c in getattr(owner, "__mro__", ()) for m in vars(c).values() if isinstance(m, FunctionType)]
    return any(i.opname == "STORE_ATTR" and i.argval == member for m in methods for i in dis.get_instructions(m))
