"""INSERT INTO … VALUES: the values of one record, each brought to what its column is.

Source of the rules: ksqlDB's INSERT VALUES, and its coercion of literals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import castable, coerce
from ksqlpy.analysis.constants import check_text
from ksqlpy.analysis.expressions import NULL, ExpressionAnalyzer
from ksqlpy.analysis.literals import loosened
from ksqlpy.analysis.scope import Scope, Text, find_source
from ksqlpy.catalog import Catalog, Column, Source
from ksqlpy.errors import AnalysisProblem, Span, SyntaxProblem, shown, similar_names
from ksqlpy.sql import Parsed, nodes, to_sql
from ksqlpy.sql.tokens import IDENTIFIER, WORD, tokenize
from ksqlpy.types import ALL_DIGITS, BIGINT, INTEGER, DecimalType, SqlType, StructType, widens_to

__all__ = ["Insert", "analyze_insert", "inserted", "refuse_read_only", "streamed_name", "streamed_target"]


@dataclass(frozen=True)
class Insert:
    """INSERT VALUES: an expression without columns for every column of the source, and the time if given.

    ``spans``: where the statement has the value of a column.
    """

    source: Source
    values: tuple[t.Expr, ...]
    rowtime: t.Expr | None
    spans: Mapping[str, Span | None] = field(default_factory=dict)


def refuse_read_only(source: Source, text: Text, node: exp.Expr) -> None:
    """Refuses to write a source of CREATE SOURCE; raises AnalysisProblem ``read-only``."""
    if source.read_only:
        what = f"{source.kind.lower()} {source.name}"
        hint = "declare a second one over the topic without SOURCE"
        text.refuse("read-only", f"{what} was made with CREATE SOURCE and can only be read", node, hint=hint)
    if source.envelope:
        message = f"table {source.name} holds the change events of {source.envelope} and can only be read"
        text.refuse("read-only", message, node, hint="CREATE TABLE … AS SELECT makes a table of its own")


def streamed_name(target: str) -> str:
    """The name of a stream or table that a client writes; in upper case if it is not quoted. Raises AnalysisProblem."""
    try:
        tokens = tokenize(target)
    except SyntaxProblem:
        tokens = []
    if len(tokens) != 1 or tokens[0].token_type not in (WORD, IDENTIFIER):
        hint = "write it in backquotes if it is not made of letters, digits and _"
        raise AnalysisProblem("unknown-source", f"{shown(target)} is no name of a stream or table", hint=hint)
    return tokens[0].text if tokens[0].token_type == IDENTIFIER else tokens[0].text.upper()


def streamed_target(target: str, catalog: Catalog) -> Source:
    """The source into which a client sends rows, by the name that it writes. Raises AnalysisProblem."""
    node = exp.to_identifier(streamed_name(target), quoted=True)
    text = Text.of("", catalog)
    source = find_source(catalog, node, text)
    refuse_read_only(source, text, node)
    _refuse_windowed(source, text, node)
    return source


def _refuse_windowed(source: Source, text: Text, node: exp.Expr) -> None:
    if source.window is not None:
        text.refuse("windowed-source", f"{source.name} has a windowed key, records cannot be inserted", node)


def analyze_insert(parsed: Parsed, catalog: Catalog) -> Insert:
    """What an INSERT … VALUES writes; raises AnalysisProblem."""
    node, text = parsed.node, Text.of(parsed.sql, catalog)
    assert isinstance(node, nodes.InsertValues)
    source = find_source(catalog, node.this, text)
    refuse_read_only(source, text, node.this)
    _refuse_windowed(source, text, node.this)
    targets = _targets(node, source, text)
    values = node.expressions
    if len(values) != len(targets):
        hint = None if node.args.get("columns") else f"the values are those of {', '.join(c.name for c in targets)}"
        text.refuse("value-count", f"{len(targets)} columns, but {len(values)} values", values[-1], hint=hint)
    analyzer = ExpressionAnalyzer(Scope(()), text)
    given: dict[str, t.Expr] = {}
    for column, value in zip(targets, values, strict=True):
        loose = loosened(analyzer.analyze(value, place="in VALUES"), column.type, value, text)
        given[column.name] = inserted(loose, column, value, text)
    missing = [c.name for c in source.keys if _is_null(given.get(c.name))]
    if source.kind == "TABLE" and missing:
        text.refuse("no-key", f"a record of a table needs its key: {', '.join(missing)}", node)
    rowtime = given.pop("ROWTIME", None)
    spans = {c.name: text.span(v) for c, v in zip(targets, values, strict=True)}
    return Insert(source, tuple(given.get(c.name, t.Literal(c.type, None)) for c in source.written), rowtime, spans)


def _is_null(value: t.Expr | None) -> bool:
    return value is None or (isinstance(value, t.Literal) and value.value is None)


def _targets(node: nodes.InsertValues, source: Source, text: Text) -> list[Column]:
    named = node.args.get("columns")
    if not named:
        if source.headers:
            text.refuse(
                "header-columns",
                f"{source.headers[0].name} holds headers, which are not inserted",
                node.this,
                hint=f"name the others: INSERT INTO {source.name} ({', '.join(c.name for c in source.written)}) …",
            )
        return list(source.columns)
    targets: list[Column] = []
    for identifier in named:
        name: str = identifier.this
        column = Column("ROWTIME", BIGINT) if name == "ROWTIME" else source.column(name)
        if column is None:
            text.refuse(
                "unknown-column",
                f"{source.name} has no column {name}",
                identifier,
                similar=similar_names(name, [c.name for c in source.columns]),
            )
        if column.header is not None:
            text.refuse("header-columns", f"{name} holds headers, which are not inserted", identifier)
        if column in targets:
            text.refuse("duplicate-column", f"column {name} is named twice", identifier)
        targets.append(column)
    return targets


def inserted(value: t.Expr, column: Column, node: exp.Expr, text: Text) -> t.Expr:
    """The value as the column's type; literals are read more loosely than other expressions. AnalysisProblem."""
    if value.type == NULL:
        return t.Literal(column.type, None)
    literal = isinstance(value, t.Literal)
    _check_literals(value, column.name, column.type, node, text)
    if widens_to(value.type, column.type):
        return coerce(value, column.type)
    whole = value.type in _WHOLE or column.type not in _WHOLE or not literal or _is_whole(value)
    if (literal or isinstance(value, t.StructOf)) and whole and castable(value.type, column.type):
        return t.Cast(column.type, value)
    text.refuse(
        "wrong-type", f"column {column.name} is {column.type}, the value is {value.type}", node, hint="CAST the value"
    )


_WHOLE: dict[SqlType, int] = {INTEGER: 2**31, BIGINT: 2**63}


def _is_whole(value: t.Expr) -> bool:
    number = value.value if isinstance(value, t.Literal) else None
    return not isinstance(number, float | Decimal) or number == int(number)


def _check_literals(value: t.Expr, name: str, wanted: SqlType, node: exp.Expr, text: Text) -> None:
    """Refuses literals, also in structs, that would become null or another value in the column."""
    match value:
        case t.StructOf(fields=fields) if isinstance(wanted, StructType):
            parts = node.expressions if isinstance(node, exp.Struct) else [node] * len(fields)
            for (field_name, part), at in zip(fields, parts, strict=True):
                inner = wanted.field(field_name)
                if inner is not None:
                    _check_literals(part, f"{name}->{field_name}", inner, at, text)
        case t.Literal(value=str() as raw):
            check_text(raw, wanted, node, text)
        case t.Literal(value=int() | float() | Decimal() as number) if not isinstance(number, bool):
            if not _fits(number, wanted):
                message = f"{to_sql(node)} does not fit column {name} {wanted}"
                text.refuse("number-too-large", message, node, hint=f"give a value that {wanted} holds, or null")


def _fits(number: int | float | Decimal, wanted: SqlType) -> bool:
    if wanted in _WHOLE:
        return -_WHOLE[wanted] <= number < _WHOLE[wanted]
    if isinstance(wanted, DecimalType):
        exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
        rounded = exact.quantize(Decimal(1).scaleb(-wanted.scale), ROUND_HALF_UP, ALL_DIGITS)
        return abs(rounded) < Decimal(1).scaleb(wanted.precision - wanted.scale)
    return True
