"""Text to trees and back: the SQL of ksqlDB.

>>> [statement] = parse("select id, amount * 2 as twice from orders emit changes;")
>>> to_sql(statement.node)
'SELECT ID, AMOUNT * 2 AS TWICE FROM ORDERS EMIT CHANGES'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from ksqlpy.errors import Span, SyntaxProblem
from ksqlpy.sql import nodes
from ksqlpy.sql.dialect import Ksql
from ksqlpy.sql.statements import Statements
from ksqlpy.sql.tokens import SYMBOLS, Token, tokenize
from ksqlpy.sql.variables import Substitution, substitute, substitute_tokens

__all__ = ["Ksql", "Parsed", "Substitution", "parse", "span_of", "substitute", "to_sql"]


@dataclass(frozen=True)
class Parsed:
    """One statement of a text.

    ``node``: its tree; ``text``: the statement as written, with its semicolon and the values of its variables; ``sql``:
    the whole text; ``start``: where the statement begins in it.
    """

    node: exp.Expr
    text: str
    sql: str
    start: int


def parse(sql: str, variables: Mapping[str, str] | None = None, *, substitution: bool = True) -> list[Parsed]:
    """The statements of a text, each ended by a semicolon; an empty list for a text without statements.

    ``variables``: values for ``${name}``, by name; DEFINE and UNDEFINE in the text change them for what follows. With
    ``substitution`` off (ksqlDB, ``ksql.variable.substitution.enable``) no reference has a value. Where something was
    replaced, ``text`` has the values, while all places, ``sql`` and ``start`` are of the text as written.

    Raises SyntaxProblem, with the place, for the first thing that is not of the language. Source of the rules: ksqlDB
    manual, "ksqlDB SQL reference".
    """
    if substitution and "${" in sql:
        return _parse_substituted(sql, {n.upper(): v for n, v in (variables or {}).items()})
    return _parse(tokenize(sql), sql)


def _parse(tokens: list[Token], sql: str) -> list[Parsed]:
    reader = Statements(tokens, sql)
    result = []
    while not reader.done:
        first = reader.tokens[reader.index]
        node = reader.statement()
        reader.end()
        end = reader.tokens[reader.index - 1].end + 1
        result.append(Parsed(node, sql[first.start : end], sql, first.start))
    return result


def _parse_substituted(sql: str, variables: dict[str, str]) -> list[Parsed]:
    """One statement after the other, since each may define what the next one uses."""
    tokens, first, result = tokenize(sql), 0, []
    for index, token in enumerate(tokens):
        if token.token_type is not SYMBOLS[";"] and index + 1 < len(tokens):
            continue
        part, start, end = tokens[first : index + 1], tokens[first].start, token.end + 1
        first = index + 1
        replaced = substitute_tokens(part, sql, variables, start, end)
        try:
            [parsed] = _parse(tokenize(replaced.text), replaced.text)
        except SyntaxProblem as e:
            if e.span is not None:
                e.span = _moved(replaced.origin(e.span), start)
            e.sql = sql
            raise
        for node in parsed.node.walk():
            if "start" in node.meta:
                place = _moved(replaced.origin(Span(node.meta["start"], node.meta["end"] + 1)), start)
                node.meta.update(start=place.start, end=place.end - 1)
        result.append(Parsed(parsed.node, parsed.text, sql, start))
        if isinstance(parsed.node, nodes.Define):
            variables[parsed.node.this.this.upper()] = parsed.node.expression.this
        elif isinstance(parsed.node, nodes.Undefine):
            variables.pop(parsed.node.this.this.upper(), None)
    return result


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


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
