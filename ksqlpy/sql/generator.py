"""Trees to text: the canonical form of statements.

Every node of the language is in :attr:`KsqlGenerator.PRINTERS`; what sqlglot would print for its own nodes may
change between its releases, and the text of a statement is stored and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from sqlglot import exp, generator

from ksqlpy.sql import nodes
from ksqlpy.sql.cursor import needs_quotes

__all__ = ["KsqlGenerator"]

Printer = Callable[[Any, Any], str]


def _binary(self: KsqlGenerator, e: exp.Expr) -> str:
    # A chain is a tower of left sides: walk it, so that a long chain costs no stack.
    parts = []
    node = e
    while (operator := self.OPERATORS.get(type(node))) is not None:
        parts += [self.sql(node, "expression"), operator]
        node = node.this
    parts.append(self.sql(node))
    return " ".join(reversed(parts))


def _name(name: str) -> str:
    return f"`{name.replace('`', '``')}`" if needs_quotes(name) else name


def _constant(text: str) -> Printer:
    return lambda self, e: text


class KsqlGenerator(generator.Generator):
    """Prints trees of this language, and raises ValueError for a node that it does not have."""

    OPERATORS: ClassVar[dict[type[exp.Expr], str]] = {
        exp.Or: "OR",
        exp.And: "AND",
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
        exp.NullSafeEQ: "IS NOT DISTINCT FROM",
        exp.NullSafeNEQ: "IS DISTINCT FROM",
        exp.Is: "IS",
        exp.DPipe: "||",
        exp.Add: "+",
        exp.Sub: "-",
        exp.Mul: "*",
        exp.Div: "/",
        exp.Mod: "%",
    }

    def generate(self, expression: exp.Expr, copy: bool = True) -> str:
        """The text of a tree; raises ValueError for a node that the language does not have."""
        for node in expression.walk():
            if type(node) not in self.PRINTERS:
                raise ValueError(f"{type(node).__name__} is not part of the language")
        return super().generate(expression, copy=copy)

    def _list(self, items: Iterable[exp.Expr] | None) -> str:
        return ", ".join(self.sql(item) for item in items or ())

    # ------------------------------------------------------------ expressions

    def _literal(self, e: exp.Literal) -> str:
        text: str = e.this
        return "'" + text.replace("'", "''") + "'" if e.is_string else text

    def _column(self, e: exp.Column) -> str:
        table = e.args.get("table")
        return f"{self.sql(table)}.{self.sql(e.this)}" if table else self.sql(e.this)

    def _negative(self, e: exp.Neg) -> str:
        inner = self.sql(e, "this")
        return f"- {inner}" if inner.startswith("-") else f"-{inner}"  # two signs in a row begin a comment

    def _not(self, e: exp.Not) -> str:
        inner = e.this
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
        if isinstance(inner, (exp.Between, exp.In, exp.Like, exp.Escape)):
            return self._matching(inner, "NOT ")
        return f"NOT {self.sql(inner)}"

    def _matching(self, e: exp.Expr, negation: str = "") -> str:
        if isinstance(e, exp.Escape):
            return f"{self._matching(e.this, negation)} ESCAPE {self.sql(e, 'expression')}"
        left = f"{self.sql(e, 'this')} {negation}"
        if isinstance(e, exp.Between):
            return f"{left}BETWEEN {self.sql(e, 'low')} AND {self.sql(e, 'high')}"
        if isinstance(e, exp.In):
            return f"{left}IN ({self._list(e.expressions)})"
        return f"{left}LIKE {self.sql(e, 'expression')}"

    def _case(self, e: exp.Case) -> str:
        parts = ["CASE"]
        if e.this:
            parts.append(self.sql(e, "this"))
        parts += [self.sql(branch) for branch in e.args["ifs"]]
        if e.args.get("default"):
            parts.append(f"ELSE {self.sql(e, 'default')}")
        return " ".join([*parts, "END"])

    def _lambda(self, e: exp.Lambda) -> str:
        names = self._list(e.expressions)
        return f"{names if len(e.expressions) == 1 else f'({names})'} => {self.sql(e, 'this')}"

    def _over(self, e: nodes.OverCall) -> str:
        clauses = " ".join(self.sql(e, key) for key in ("partition", "order") if e.args.get(key))
        return f"{self.sql(e, 'this')} OVER ({clauses})"

    def _type(self, e: nodes.TypeName) -> str:
        if e.args.get("user"):
            return _name(e.this)
        if e.this == "DECIMAL":
            return f"DECIMAL({self._list(e.expressions)})"
        if e.this in ("ARRAY", "MAP", "STRUCT"):
            return f"{e.this}<{self._list(e.expressions)}>"
        return str(e.this)

    # ------------------------------------------------------------ queries

    def _table(self, e: exp.Table) -> str:
        alias = e.args.get("alias")
        return f"{self.sql(e.this)} AS {self.sql(alias.this)}" if alias else self.sql(e.this)

    def _subquery(self, e: exp.Subquery) -> str:
        alias = e.args.get("alias")
        return f"({self.sql(e.this)}){f' AS {self.sql(alias.this)}' if alias else ''}"

    def _join(self, e: nodes.StreamJoin) -> str:
        side, within = e.args.get("side"), e.args.get("within") or ()
        parts = [f"{f'{side} ' if side else ''}JOIN {self.sql(e, 'this')}"]
        if within:
            parts.append(f"WITHIN {self.sql(within[0])}" if len(within) == 1 else f"WITHIN ({self._list(within)})")
        if e.args.get("grace"):
            parts.append(f"GRACE PERIOD {self.sql(e, 'grace')}")
        return " ".join([*parts, f"ON {self.sql(e, 'on')}"])

    def _window(self, e: nodes.TimeWindow) -> str:
        first = "" if e.args["kind"] == "SESSION" else "SIZE "
        words = (("size", first), ("advance", "ADVANCE BY "), ("retention", "RETENTION "), ("grace", "GRACE PERIOD "))
        parts = [f"{word}{self.sql(e, key)}" for key, word in words if e.args.get(key)]
        return f"WINDOW {e.args['kind']} ({', '.join(parts)})"

    def _ordered(self, e: nodes.OrderItem) -> str:
        nulls = e.args.get("nulls")
        return f"{self.sql(e, 'this')}{' DESC' if e.args.get('desc') else ''}{f' NULLS {nulls}' if nulls else ''}"

    def _query(self, e: nodes.Query | nodes.UnionAll) -> str:
        parts = [self.sql(e, "with_")] if e.args.get("with_") else []
        if isinstance(e, nodes.UnionAll):
            parts.append(" UNION ALL ".join(self.sql(branch) for branch in e.expressions))
        else:
            parts += [f"SELECT {self._list(e.expressions)}", self.sql(e, "from_")]
            parts += [self.sql(join) for join in e.args.get("joins") or ()]
            clauses = ("window", "where", "group", "partition", "having")
            parts += [self.sql(e, key) for key in clauses if e.args.get(key)]
        if e.args.get("order"):
            parts.append(self.sql(e, "order"))
        if e.args.get("emit"):
            parts.append(f"EMIT {e.args['emit']}")
        if e.args.get("limit"):
            parts.append(self.sql(e, "limit"))
        return " ".join(parts)

    # ------------------------------------------------------------ statements

    def _words(self, *parts: str | None) -> str:
        return " ".join(p for p in parts if p)

    def _flag(self, e: exp.Expr, key: str, words: str) -> str:
        return words if e.args.get(key) else ""

    def _in_brackets(self, e: exp.Expr, key: str, before: str = "") -> str:
        return f"{before}({self._list(e.args[key])})" if e.args.get(key) else ""

    def _optional(self, e: exp.Expr, key: str, before: str) -> str:
        return f"{before} {self.sql(e, key)}" if e.args.get(key) else ""

    def _column_spec(self, e: nodes.ColumnSpec) -> str:
        constraint, header = e.args.get("constraint"), e.args.get("header")
        mark = f"{constraint}({self.sql(header)})" if header else constraint
        return self._words(self.sql(e, "this"), self.sql(e, "type"), mark)

    def _create(self, e: nodes.CreateSource) -> str:
        return self._words(
            "CREATE",
            self._flag(e, "replace", "OR REPLACE"),
            self._flag(e, "source", "SOURCE"),
            e.args["kind"],
            self._flag(e, "exists", "IF NOT EXISTS"),
            self.sql(e, "this"),
            self._in_brackets(e, "columns"),
            self._in_brackets(e, "properties", "WITH "),
            self._optional(e, "query", "AS"),
        )

    def _alter(self, e: nodes.AlterSource) -> str:
        added = ", ".join(f"ADD COLUMN {self.sql(c)}" for c in e.args["columns"])
        return self._words("ALTER", e.args["kind"], self.sql(e, "this"), added)

    def _create_type(self, e: nodes.CreateType) -> str:
        exists = self._flag(e, "exists", "IF NOT EXISTS")
        return self._words("CREATE TYPE", exists, self.sql(e, "this"), self._optional(e, "type", "AS"))

    def _create_function(self, e: nodes.CreateFunction) -> str:
        kind = e.args["kind"]
        return self._words(
            "CREATE",
            self._flag(e, "replace", "OR REPLACE"),
            "" if kind == "SCALAR" else kind,
            "FUNCTION",
            self._flag(e, "exists", "IF NOT EXISTS"),
            f"{self.sql(e, 'this')}({self._list(e.args['parameters'])})",
            self._optional(e, "returns", "RETURNS"),
            self._optional(e, "state", "STATE"),
            "LANGUAGE PYTHON",
            e.args.get("determinism"),
            self._in_brackets(e, "properties", "WITH "),
            self._optional(e, "body", "AS"),
        )

    def _source_text(self, e: nodes.SourceText) -> str:
        if "$$" in e.this:
            raise ValueError("a text with $$ in it cannot stand between $$ and $$")
        return f"$${e.this}$$"

    def _create_connector(self, e: nodes.CreateConnector) -> str:
        exists = self._flag(e, "exists", "IF NOT EXISTS")
        properties = self._in_brackets(e, "properties", "WITH ")
        return self._words("CREATE", e.args["kind"], "CONNECTOR", exists, self.sql(e, "this"), properties)

    def _insert_select(self, e: nodes.InsertSelect) -> str:
        properties = self._in_brackets(e, "properties", "WITH ")
        return self._words("INSERT INTO", self.sql(e, "this"), properties, self.sql(e, "query"))

    def _rows(self, e: exp.Expr, verb: str, before: str) -> str:
        names, values = self._in_brackets(e, "columns"), self._in_brackets(e, "expressions", f"{before} ")
        return self._words(verb, self.sql(e, "this"), names, values)

    def _drop(self, e: nodes.DropSource) -> str:
        return self._words(
            "DROP",
            e.args["kind"],
            self._flag(e, "exists", "IF EXISTS"),
            self.sql(e, "this"),
            self._flag(e, "delete_topic", "DELETE TOPIC"),
            self._flag(e, "cascade", "CASCADE"),
        )

    def _drop_other(self, e: exp.Expr, what: str) -> str:
        return self._words("DROP", what, self._flag(e, "exists", "IF EXISTS"), self.sql(e, "this"))

    def _assert(self, e: nodes.AssertTopic | nodes.AssertSchema) -> str:
        return self._words(
            "ASSERT",
            self._flag(e, "absent", "NOT EXISTS"),
            f"TOPIC {self.sql(e, 'this')}" if isinstance(e, nodes.AssertTopic) else "SCHEMA",
            self._in_brackets(e, "properties", "WITH "),
            self._optional(e, "subject", "SUBJECT"),
            self._optional(e, "id", "ID"),
            self._optional(e, "timeout", "TIMEOUT"),
        )

    def _assert_source(self, e: nodes.AssertSource) -> str:
        columns, properties = self._in_brackets(e, "columns"), self._in_brackets(e, "properties", "WITH ")
        return self._words("ASSERT", e.args["kind"], self.sql(e, "this"), columns, properties)

    def _show(self, e: nodes.Show) -> str:
        every, extended = self._flag(e, "all", "ALL"), self._flag(e, "extended", "EXTENDED")
        return self._words("SHOW", every, e.args["kind"], self._optional(e, "role", "FOR"), extended)

    def _granted_on(self, e: nodes.GrantedOn) -> str:
        topic, name = e.args["kind"] == "TOPIC", e.args.get("this")
        if name is not None:
            return f"TOPIC {self.sql(name)}" if topic else self.sql(name)
        return self._words("ALL", "TOPICS" if topic else "", self._optional(e, "like", "LIKE"))

    def _print(self, e: nodes.Print) -> str:
        return self._words(
            "PRINT",
            self.sql(e, "this"),
            self._flag(e, "beginning", "FROM BEGINNING"),
            self._optional(e, "interval", "INTERVAL"),
            self.sql(e, "limit"),
        )

    def _assignment(self, e: exp.Expr, verb: str) -> str:
        return f"{verb} {self.sql(e, 'this')} = {self.sql(e, 'expression')}"

    def _describe(self, e: nodes.DescribeSource) -> str:
        return f"DESCRIBE {self.sql(e, 'this')}{' EXTENDED' if e.args.get('extended') else ''}"

    PRINTERS: ClassVar[dict[type[exp.Expr], Printer]] = {
        **dict.fromkeys(OPERATORS, _binary),
        # names and literals
        exp.Identifier: lambda self, e: _name(e.this),
        exp.Column: _column,
        exp.Star: _constant("*"),
        exp.Null: _constant("NULL"),
        exp.Boolean: lambda self, e: "TRUE" if e.this else "FALSE",
        exp.Literal: _literal,
        nodes.DecimalLiteral: lambda self, e: f"DECIMAL {self.sql(e, 'this')}",
        nodes.IntervalUnit: lambda self, e: e.this,
        nodes.LambdaVariable: lambda self, e: self.sql(e, "this"),
        # operators
        exp.Not: _not,
        exp.Neg: _negative,
        exp.Between: _matching,
        exp.In: _matching,
        exp.Like: _matching,
        exp.Escape: _matching,
        # values
        exp.Paren: lambda self, e: f"({self.sql(e, 'this')})",
        exp.Case: _case,
        exp.If: lambda self, e: f"WHEN {self.sql(e, 'this')} THEN {self.sql(e, 'true')}",
        exp.Cast: lambda self, e: f"CAST({self.sql(e, 'this')} AS {self.sql(e, 'to')})",
        exp.Bracket: lambda self, e: f"{self.sql(e, 'this')}[{self._list(e.expressions)}]",
        exp.Array: lambda self, e: f"ARRAY[{self._list(e.expressions)}]",
        exp.Struct: lambda self, e: f"STRUCT({self._list(e.expressions)})",
        exp.PropertyEQ: lambda self, e: f"{self.sql(e, 'this')} := {self.sql(e, 'expression')}",
        exp.Anonymous: lambda self, e: f"{_name(e.this)}({self._list(e.expressions)})",
        exp.Lambda: _lambda,
        nodes.OverCall: _over,
        nodes.MapOf: lambda self, e: f"MAP({self._list(e.expressions)})",
        nodes.FieldAccess: lambda self, e: f"{self.sql(e, 'this')}->{self.sql(e, 'expression')}",
        nodes.StructStar: lambda self, e: f"{self.sql(e, 'this')}->*",
        nodes.TypeName: _type,
        # queries
        exp.Alias: lambda self, e: f"{self.sql(e, 'this')} AS {self.sql(e, 'alias')}",
        exp.Table: _table,
        exp.TableAlias: lambda self, e: self.sql(e, "this"),
        exp.From: lambda self, e: f"FROM {self.sql(e, 'this')}",
        exp.Where: lambda self, e: f"WHERE {self.sql(e, 'this')}",
        exp.Group: lambda self, e: f"GROUP BY {self._list(e.expressions) or '()'}",
        exp.Having: lambda self, e: f"HAVING {self.sql(e, 'this')}",
        exp.Limit: lambda self, e: f"LIMIT {self.sql(e, 'expression')}",
        nodes.PartitionBy: lambda self, e: f"PARTITION BY {self._list(e.expressions) or '()'}",
        nodes.StreamJoin: _join,
        nodes.TimeWindow: _window,
        nodes.Duration: lambda self, e: f"{self.sql(e, 'this')} {e.args['unit']}",
        nodes.OrderItem: _ordered,
        nodes.Query: _query,
        nodes.UnionAll: _query,
        exp.Order: lambda self, e: f"ORDER BY {self._list(e.expressions)}",
        exp.Subquery: _subquery,
        exp.With: lambda self, e: f"WITH {self._list(e.expressions)}",
        exp.CTE: lambda self, e: f"{self.sql(e, 'alias')} AS ({self.sql(e, 'this')})",
        # statements
        exp.Property: lambda self, e: f"{self.sql(e, 'this')} = {self.sql(e, 'value')}",
        nodes.ColumnSpec: _column_spec,
        nodes.CreateSource: _create,
        nodes.AlterSource: _alter,
        nodes.CreateType: _create_type,
        nodes.DropType: lambda self, e: self._drop_other(e, "TYPE"),
        nodes.InsertSelect: _insert_select,
        nodes.InsertValues: lambda self, e: self._rows(e, "INSERT INTO", "VALUES"),
        nodes.DeleteFrom: lambda self, e: f"DELETE FROM {self.sql(e, 'this')} {self.sql(e, 'where')}",
        nodes.DropSource: _drop,
        nodes.CreateFunction: _create_function,
        nodes.SourceText: _source_text,
        nodes.DropFunction: lambda self, e: self._drop_other(e, "FUNCTION"),
        nodes.CreateConnector: _create_connector,
        nodes.CreateRole: lambda self, e: self._words(
            "CREATE ROLE", self._flag(e, "exists", "IF NOT EXISTS"), self.sql(e, "this")
        ),
        nodes.DropRole: lambda self, e: self._drop_other(e, "ROLE"),
        nodes.GrantedOn: _granted_on,
        nodes.Grant: lambda self, e: f"GRANT {e.args['rights']} ON {self.sql(e, 'this')} TO {self.sql(e, 'role')}",
        nodes.Revoke: lambda self, e: f"REVOKE {e.args['rights']} ON {self.sql(e, 'this')} FROM {self.sql(e, 'role')}",
        nodes.DropConnector: lambda self, e: self._drop_other(e, "CONNECTOR"),
        nodes.AssertTopic: _assert,
        nodes.AssertSchema: _assert,
        nodes.AssertValues: lambda self, e: self._rows(e, "ASSERT VALUES", "VALUES"),
        nodes.AssertTombstone: lambda self, e: self._rows(e, "ASSERT NULL VALUES", "KEY"),
        nodes.AssertSource: _assert_source,
        nodes.Show: _show,
        nodes.Print: _print,
        nodes.DescribeSource: _describe,
        nodes.DescribeStreams: lambda self, e: self._words("DESCRIBE STREAMS", self._flag(e, "extended", "EXTENDED")),
        nodes.DescribeConnector: lambda self, e: f"DESCRIBE CONNECTOR {self.sql(e, 'this')}",
        nodes.DescribeFunction: lambda self, e: f"DESCRIBE FUNCTION {self.sql(e, 'this')}",
        nodes.Explain: lambda self, e: f"EXPLAIN {self.sql(e, 'this') or self.sql(e, 'statement')}",
        nodes.Pause: lambda self, e: f"PAUSE {'ALL' if e.args.get('all') else self.sql(e, 'this')}",
        nodes.Resume: lambda self, e: f"RESUME {'ALL' if e.args.get('all') else self.sql(e, 'this')}",
        nodes.Skip: lambda self, e: (
            f"SKIP {self.sql(e, 'record')} FOR {'ALL' if e.args.get('all') else self.sql(e, 'this')}"
        ),
        nodes.Rewind: lambda self, e: f"REWIND {self.sql(e, 'this')} TO {self.sql(e, 'time') or 'BEGINNING'}",
        nodes.Terminate: lambda self, e: f"TERMINATE {'ALL' if e.args.get('all') else self.sql(e, 'this')}",
        nodes.SetProperty: lambda self, e: self._assignment(e, "SET"),
        nodes.AlterSystem: lambda self, e: self._assignment(e, "ALTER SYSTEM"),
        nodes.Define: lambda self, e: self._assignment(e, "DEFINE"),
        nodes.Undefine: lambda self, e: f"UNDEFINE {self.sql(e, 'this')}",
        nodes.RunScript: lambda self, e: f"RUN SCRIPT {self.sql(e, 'this')}",
        nodes.UnsetProperty: lambda self, e: f"UNSET {self.sql(e, 'this')}",
    }
    """The closed set of nodes, and how each is printed."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Printer]] = {**generator.Generator.TRANSFORMS, **PRINTERS}
