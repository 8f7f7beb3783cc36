"""Names of a case's own: statements with a suffix behind the names of sources, topics, types, functions and queries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from sqlglot import exp

from ksqlpy.analysis.windows import LATE_TOPIC
from ksqlpy.sql import Parsed, nodes, parse, span_of

__all__ = ["functions_of", "with_suffix"]


def functions_of(texts: Iterable[str]) -> frozenset[str]:
    """The functions that statements make, in capital letters."""
    made = (p.node for text in texts for p in parse(text) if isinstance(p.node, nodes.CreateFunction))
    return frozenset(node.this.this.upper() for node in made)


def with_suffix(sql: str, suffix: str, functions: Collection[str] = ()) -> str:
    """The statements with the suffix behind the names that they give or use; all else stays as it is written.

    They are those of sources, topics and types, ids of queries, and of calls those of ``functions``.

    >>> with_suffix("CREATE STREAM b AS SELECT a.x FROM a;", "__1")
    'CREATE STREAM `B__1` AS SELECT a.x FROM `A__1` AS `A`;'
    """
    edits: list[tuple[int, int, str]] = []

    def replace_node(node: exp.Expr, text: str) -> None:
        span = span_of(node, sql)
        assert span is not None
        edits.append((span.start, span.end, text))

    for parsed in parse(sql):
        for node in _named(parsed):
            replace_node(node, f"`{node.this}{suffix}`")
        if isinstance(parsed.node, nodes.CreateFunction) and isinstance(parsed.node.args["body"], nodes.SourceText):
            span = span_of(parsed.node.args["body"], sql)
            assert span is not None
            edits.append((span.end - 2, span.end - 2, _another_name(parsed.node, suffix)))
        for call in parsed.node.find_all(exp.Anonymous):
            span = span_of(call, sql)
            if call.this.upper() in functions and span is not None:
                end = span.start + len(call.this)
                edits.append((end, end, suffix))
        for table in parsed.node.find_all(exp.Table):
            if _names_a_query(table):
                continue
            alias = "" if table.args.get("alias") is not None else f" AS `{table.this.this}`"
            replace_node(table.this, f"`{table.this.this}{suffix}`{alias}")
        for used in parsed.node.find_all(nodes.TypeName):
            if used.args.get("user"):
                replace_node(used, f"`{used.this}{suffix}`")
        for found in parsed.node.find_all(exp.Property):
            if found.this.name.upper() in ("KAFKA_TOPIC", "QUERY_ID"):
                value = found.args["value"]
                replace_node(value, "'" + value.name.replace("'", "''") + suffix + "'")
        if isinstance(parsed.node, nodes.SetProperty) and parsed.node.this.this == LATE_TOPIC:
            replace_node(parsed.node.expression, f"'{parsed.node.expression.this}{suffix}'")
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _another_name(node: exp.Expr, suffix: str) -> str:
    """What stands at the end of a text in Python, so that its def or class has the name with the suffix, too."""
    name: str = node.this.this
    found = re.search(rf"^([ \t]*)(?:def|class)[ \t]+({re.escape(name)})\b", node.args["body"].this, re.M | re.I)
    return "" if found is None else f"\n{found[1]}{name}{suffix} = {found[2]}\n"


def _names_a_query(table: exp.Expr) -> bool:
    """Whether the name in FROM is one that WITH gives to a query."""
    name, node = table.this.this, table
    while (parent := node.parent) is not None:
        clause = parent.args.get("with_")
        tables = clause.expressions if clause is not None and clause is not node else []
        if isinstance(parent, exp.With):  # a query of WITH knows those before it
            tables = parent.expressions[: parent.expressions.index(node)]
        if any(t.args["alias"].this.this == name for t in tables):
            return True
        node = parent
    return False


def _named(parsed: Parsed) -> list[exp.Expr]:
    """The identifiers with which a statement names a source or a type, outside of queries."""
    own = (
        nodes.CreateSource,
        nodes.CreateFunction,
        nodes.DropFunction,
        nodes.DescribeFunction,
        nodes.CreateType,
        nodes.DropType,
        nodes.AlterSource,
        nodes.InsertValues,
        nodes.InsertSelect,
        nodes.DeleteFrom,
        nodes.DropSource,
        nodes.DescribeSource,
    )
    return [parsed.node.this] if isinstance(parsed.node, own) else []
