"""Text to trees and back: the SQL of ksqlDB.

>>> [statement] = parse("select id, amount * 2 as twice from orders emit changes;")
>>> to_sql(statement.node)
'SELECT ID, AMOUNT * 2 AS TWICE FROM ORDERS EMIT CHANGES'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ksqlpy.errors import Span, SyntaxProblem
from ksqlpy.sql import nodes
from ksqlpy.sql.dialect import Ksql
from ksqlpy.sql.statements import Statements
from ksqlpy.sql.tokens import SYMBOLS, Token, tokenize
from ksqlpy.sql.variables import MAX_LENGTH, Substitution, substitute, substitute_tokens

__all__ = ["Ksql", "Parsed", "Parts", "Substitution", "parse", "span_of", "substitute", "to_sql"]


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
    tokens = tokenize(sql)
    if not substitution or "${" not in sql:
        return _parse(tokens, sql)
    parts, first, result = Parts(sql, variables or {}), 0, []
    for index, token in enumerate(tokens):
        if token.token_type is SYMBOLS[";"] or index + 1 == len(tokens):
            result.append(parts.parsed(tokens[first : index + 1]))
            first = index + 1
    return result


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


class Parts:
    """The statements of a text, parsed one after the other, since each may define what the next one uses."""

    def __init__(self, sql: str, variables: Mapping[str, str]) -> None:
        """``variables``: as of :func:`parse`."""
        self._sql = sql
        self._variables = {name.upper(): value for name, value in variables.items()}
        self._room = MAX_LENGTH

    @property
    def known(self) -> Collection[str]:
        """The names, in upper case, of variables that have a value for the next statement."""
        return self._variables.keys()

    def parsed(self, tokens: list[Token]) -> Parsed:
        """The statement of some tokens of the text, up to its semicolon; raises SyntaxProblem as :func:`parse`."""
        sql, start, end = self._sql, tokens[0].start, tokens[-1].end + 1
        if sql.find("${", start, end) < 0:
            [parsed] = _parse(tokens, sql)
        else:
            parsed = self._substituted(tokens, start, end)
        if isinstance(parsed.node, nodes.Define):
            self._variables[parsed.node.this.this.upper()] = parsed.node.expression.this
        elif isinstance(parsed.node, nodes.Undefine):
            self._variables.pop(parsed.node.this.this.upper(), None)
        return parsed

    def _substituted(self, tokens: list[Token], start: int, end: int) -> Parsed:
        sql = self._sql
        replaced = substitute_tokens(tokens, sql, self._variables, start, end, self._room)
        self._room -= max(0, len(replaced.text) - (end - start))
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
        return Parsed(parsed.node, parsed.text, sql, start)


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
