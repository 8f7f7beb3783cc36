"""What the language has and no engine runs yet: one table, so that nothing of it is ever left out in silence.

Whoever makes a clause run takes its row away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.sql import nodes

__all__ = ["check_clauses"]


def _has(key: str, *values: object) -> Callable[[Any], bool]:
    """Whether the argument ``key`` is one of ``values``; without values, whether it is there."""
    return lambda node: node.args.get(key) in values if values else bool(node.args.get(key))


_ROWS: tuple[tuple[type[exp.Expr], Callable[[Any], bool], str, str], ...] = (
    (nodes.Query, _has("emit", "FINAL"), "EMIT FINAL", "EMIT CHANGES gives every change of a window"),
    (nodes.UnionAll, _has("emit", "FINAL"), "EMIT FINAL", "EMIT CHANGES gives every change of a window"),
    (nodes.TimeWindow, _has("kind", "SESSION"), "WINDOW SESSION", "there are TUMBLING and HOPPING"),
)


def check_clauses(node: exp.Expr, text: Text) -> None:
    """Refuses a statement or query with a clause that is not run; raises AnalysisProblem ``unsupported-clause``."""
    for part in node.walk():
        for kind, applies, what, hint in _ROWS:
            if isinstance(part, kind) and applies(part):
                text.refuse("unsupported-clause", f"{what} is not run by this server", part, hint=hint)
