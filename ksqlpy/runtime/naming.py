"""Errors name the statement that they come of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ksqlpy.errors import AnalysisProblem, KsqlError
from ksqlpy.sql import Parsed

__all__ = ["naming"]


@contextlib.contextmanager
def naming(statement: Parsed, entities: list[dict[str, Any]]) -> Iterator[None]:
    """Puts the statement, its SQL and the answers so far on an error that comes out of it."""
    try:
        yield
    except KsqlError as e:
        if e.statement_text is None:  # it may come of an earlier statement, whose record was not written
            if e.sql is None and isinstance(e, AnalysisProblem):
                e.sql = statement.sql
            e.statement_text = statement.text
            e.entities = list(entities)
        raise
