"""Text to trees and back: the SQL of ksqlDB.

>>> [statement] = parse("select id, amount * 2 as twice from orders emit changes;")
>>> to_sql(statement.node)
'SELECT ID, AMOUNT * 2 AS TWICE FROM ORDERS EMIT CHANGES'
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ksqlpy.errors import Span
from ksqlpy.sql.dialect import Ksql
from ksqlpy.sql.statements import Statements
from ksqlpy.sql.tokens import tokenize

__all__ = ["Ksql", "Parsed", "parse", "span_of", "to_sql"]


@dataclass(frozen=True)
class Parsed:
    """One statement of a text.

    ``node``: its tree; ``text``: the statement as written, with its semicolon; ``sql``: the whole text; ``start``:
    where the statement begins in it.
    """

    node: exp.Expr
    text: str
    sql: str
    start: int


def parse(sql: str) -> list[Parsed]:
    """The statements of a text, each ended by a semicolon; an empty list for a text without statements.

    Raises SyntaxProblem, with the place, for the first thing that is not of the language. Source of the rules: ksqlDB
    manual, "ksqlDB SQL reference".
    """
    reader = Statements(tokenize(sql), sql)
    result = []
    while not reader.done:
        first = reader.tokens[reader.index]
        node = reader.statement()
        reader.end()
        end = reader.tokens[reader.index - 1].end + 1
        result.append(Parsed(node, sql[first.start : end], sql, first.start))
    return result


def to_sql(node: exp.Expr) -> str:
    """The canonical text of a tree, without a semicolon; parsed again it gives an equal tree.

    Raises ValueError for a node that the language does not have.
    """
    # A generator of sqlglot keeps state while it prints, so every call, and with it every thread, has its own.
    return _DIALECT.generate(node, copy=False)


def span_of(node: exp.Expr, sql: str) -> Span | None:
    """Where a node stands in the text it was parsed from; None for a node that was made, with all its parts, later.

    A made node that holds parsed ones spans from the first to the last of them.
    """
    start, end = node.meta.get("start"), node.meta.get("end")
    if start is not None and end is not None and end < len(sql):
        return Span(start, end + 1)
    places = [p for child in node.iter_expressions() if (p := span_of(child, sql)) is not None]
    if not places:
        return None
    return Span(min(p.start for p in places), max(p.end for p in places))


_DIALECT = Ksql()
