"""The functions of a project: ``functions/*.py`` with the decorators of ksqlpy, as statements that create them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ksqlpy.errors import ConfigProblem
from ksqlpy.project.files import File, files_below, read_file, read_files
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Workers
from ksqlpy.udfs.source import declared_in_text
from ksqlpy.udfs.statement import create_statement

__all__ = ["FOLDER", "python_files", "read_functions", "read_project"]

FOLDER = "functions"
"""Python files below folders of this name declare functions; all others are none of the project."""


def read_project(paths: Iterable[Path]) -> list[File]:
    """The files of statements, and those of functions as CREATE FUNCTION statements.

    A worker runs the latter to see what they declare. Raises ConfigProblem, and AnalysisProblem with file and line.
    """
    places = list(paths)
    found = dict.fromkeys(f for place in places if place.is_dir() for f in python_files(place))
    if not found:
        return read_files(places)
    with contextlib.closing(Workers()) as workers:
        return [*read_files(places), *read_functions(found, workers)]


def python_files(folder: Path, most: int | None = None) -> list[Path]:
    """The files below a folder that declare functions; ``most``, errors: as of :func:`.files.files_below`."""
    return [f for f in files_below(folder, ".py", most) if _declares(f.relative_to(folder).parts)]


def _declares(parts: Sequence[str]) -> bool:
    return parts[-2:-1] == (FOLDER,) and not any(part.startswith("__") for part in parts)


def read_functions(files: Iterable[Path], workers: Workers) -> list[File]:
    """Files of functions as statements; ``workers`` run them. Raises as :func:`read_project`."""
    return [_created(read_file(file), workers) for file in files]


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
