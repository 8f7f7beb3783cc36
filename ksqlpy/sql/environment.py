"""Refuses a sqlglot on which the dialect cannot be built."""

from __future__ import annotations

import sqlglot.parser

from ksqlpy.errors import EnvironmentProblem

__all__ = ["check_sqlglot"]


def check_sqlglot(file: str | None = None) -> None:
    """Raises EnvironmentProblem if sqlglot is compiled: the compiled classes can have no subclasses.

    ``file`` is where sqlglot's parser was loaded from; given only by tests.
    """
    path = file if file is not None else sqlglot.parser.__file__
    if not path.endswith(".py"):
        raise EnvironmentProblem(
            "compiled-sqlglot",
            f"ksqlpy needs sqlglot as plain Python, but {path} is compiled",
            hint="run: pip uninstall sqlglotc",
        )
