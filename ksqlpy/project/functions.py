"""The functions of a project: ``functions/*.py`` with the decorators of ksqlpy, as statements that create them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ksqlpy.errors import ConfigProblem
from ksqlpy.project.files import File, read_file, read_files
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Workers
from ksqlpy.udfs.source import declared_in_text
from ksqlpy.udfs.statement import create_statement

__all__ = ["FOLDER", "read_project"]

FOLDER = "functions"
"""Python files below folders of this name declare functions; all others are none of the project."""


def read_project(paths: Iterable[Path]) -> list[File]:
    """The files of statements, and those of functions as CREATE FUNCTION statements.

    A worker runs the latter to see what they declare. Raises ConfigProblem, and AnalysisProblem with file and line.
    """
    places = list(paths)
    found = dict.fromkeys(f for place in places if place.is_dir() for f in _python_files(place))
    if not found:
        return read_files(places)
    with contextlib.closing(Workers()) as workers:
        return [*read_files(places), *(_created(read_file(f), workers) for f in found)]


def _python_files(folder: Path) -> list[Path]:
    files = (f for f in folder.rglob(f"{FOLDER}/*.py") if f.is_file())
    return sorted(f for f in files if not any(part.startswith((".", "__")) for part in f.relative_to(folder).parts))


def _created(file: File, workers: Workers) -> File:
    try:
        statements = [create_statement(_named(d)) for d in declared_in_text(file.sql, file.name, workers.describe)]
    except ValueError as e:
        hint = "write it in two pieces, such as '$' '$'"
        raise ConfigProblem("file-unreadable", f"{file.name} has $$ in it, which ends a text in SQL", hint=hint) from e
    return File(file.name, "\n\n".join(statements))


def _named(definition: Definition) -> Definition:
    """With its function under the name that it has in SQL."""
    if definition.callable.upper() == definition.name:
        return definition
    alias = f"{definition.body.rstrip()}\n\n{definition.name.lower()} = {definition.callable}\n"
    return replace(definition, body=alias)
