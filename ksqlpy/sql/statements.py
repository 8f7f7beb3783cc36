"""Statements and queries.

Source of the rules: ksqlDB manual, "ksqlDB SQL reference", one page a statement. The language is closed: what is not
in :attr:`Statements.STATEMENTS` is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NoReturn

from sqlglot import exp

from ksqlpy.errors import SyntaxProblem, similar_names
from ksqlpy.sql import nodes
from ksqlpy.sql.expressions import MAX_HEIGHT, Expressions
from ksqlpy.sql.tokens import NUMBER, STRING

__all__ = ["Statements"]


class Statements(Expressions):
    """Reads statements."""

    STATEMENTS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "CREATE": "_create",
            "DESCRIBE": "_describe",
            "DROP": "_drop",
            "EXPLAIN": "_explain",
            "INSERT": "_insert",
            "LIST": "_show",
            "PAUSE": "_pause",
            "RESUME": "_resume",
            "SELECT": "query",
            "SET": "_set",
            "SHOW": "_show",
            "TERMINATE": "_terminate",
            "UNSET": "_unset",
        }
    )
    """First word of a statement, and the method that reads it from the second word on."""

    SHOWN: ClassVar[Mapping[str, bool]] = MappingProxyType(
        {
            "STREAMS": True,
            "TABLES": True,
            "QUERIES": True,
            "TOPICS": False,
            "PROPERTIES": False,
            "FUNCTIONS": False,
        }
    )
    """What SHOW takes, and whether EXTENDED may follow."""

    JOINS: ClassVar[Mapping[str, str]] = MappingProxyType({"INNER": "", "LEFT": "LEFT"})
    """First word of a join, and the side it stands for; OUTER may follow where there is a side."""

    WINDOWS: ClassVar[tuple[str, ...]] = ("TUMBLING", "HOPPING")
    EMITS: ClassVar[tuple[str, ...]] = ("CHANGES",)

    UNITS: ClassVar[tuple[str, ...]] = tuple(unit + end for unit in nodes.UNIT_MILLIS for end in ("", "S"))

    def statement(self) -> exp.Expr:
        """Reads one statement up to, but without, its semicolon; raises SyntaxProblem."""
        begin = self.index
        method = self.STATEMENTS.get(self.text)
        if method is None:
            self._unknown()
        self.index += 1
        try:
            node: exp.Expr = getattr(self, method)()
        except RecursionError:  # the caller itself stands deep in the stack
            self.too_deep("The statement is nested too deeply")
        if self.index - begin > MAX_HEIGHT:  # a tree is never higher than its tokens are many
            self._check_height(node)
        return self.placed(node, begin)

    def _check_height(self, root: exp.Expr) -> None:
        level, height = [root], 0
        while level:
            height += 1
            if height > MAX_HEIGHT:
                self.too_deep(f"The tree of the statement is higher than {MAX_HEIGHT}")
            level = [child for node in level for child in node.iter_expressions()]

    def end(self) -> None:
        """Reads the semicolon that ends a statement; raises SyntaxProblem if it is missing."""
        if self.accept(";"):
            return
        if self.done:
            self.fail_at(self.index, "missing-semicolon", "The statement has no end", hint="end the statement with ;")
        self.fail()

    def _unknown(self) -> NoReturn:
        place = self.span(self.index)
        written = self.sql[place.start : place.end][:40]
        raise SyntaxProblem(
            "unknown-statement",
            f"No statement begins with {written}",
            span=place,
            sql=self.sql,
            hint=f"statements begin with {', '.join(self.STATEMENTS)}",
            similar=similar_names(self.text, self.STATEMENTS, limit=1),
        )

    # ------------------------------------------------------------ query

    def query(self) -> nodes.Query:
        """Reads a query after its SELECT."""
        begin = self.index - 1
        query = nodes.Query(expressions=self.comma_list(self._item))
        at = self.index
        self.expect("FROM")
        query.set("from_", self.placed(exp.From(this=self._relation()), at))
        joins = []
        while (join := self._join()) is not None:
            joins.append(join)
        if joins:
            query.set("joins", joins)
        at = self.index
        if self.accept("WINDOW"):
            query.set("window", self._window())
        at = self.index
        if self.accept("WHERE"):
            query.set("where", self.placed(exp.Where(this=self.expression()), at))
        at = self.index
        if self.accept("GROUP", "BY"):
            query.set("group", self.placed(exp.Group(expressions=self._by_list()), at))
        at = self.index
        if self.accept("PARTITION", "BY"):
            query.set("partition", self.placed(nodes.PartitionBy(expressions=self._by_list()), at))
        at = self.index
        if self.accept("HAVING"):
            query.set("having", self.placed(exp.Having(this=self.expression()), at))
        if self.accept("EMIT"):
            emit = self.accept_any(self.EMITS)
            if not emit:
                self.fail()
            query.set("emit", emit)
        at = self.index
        if self.accept("LIMIT"):
            query.set("limit", self.placed(exp.Limit(expression=self._whole_number("a number of rows")), at))
        return self.placed(query, begin)

    def _item(self) -> exp.Expr:
        begin = self.index
        if self.accept("*"):
            return self.placed(exp.Star(), begin)
        if self.is_name() and self.ahead(1) == "." and self.ahead(2) == "*":
            table = self.name()
            self.index += 2
            return self.placed(exp.Column(this=self._star(self.index - 1), table=table), begin)
        this = self.expression()
        if self.text == "->":
            # The star binds like a field: it follows one value, not an operator.
            if isinstance(this, (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In)):
                self.fail(hint="s->* stands alone in the list, without operators")
            self.expect("->", "*")
            return self.placed(nodes.StructStar(this=this), begin)
        if self.accept("AS"):
            return self.placed(exp.Alias(this=this, alias=self.name("an alias")), begin)
        if self.is_name():
            return self.placed(exp.Alias(this=this, alias=self.name()), begin)
        return this

    def _relation(self) -> exp.Table:
        begin = self.index
        name = self.name("a stream or table")
        alias = None
        at = self.index
        if self.accept("AS"):
            alias = exp.TableAlias(this=self.name("an alias"))
        elif self.is_name() and not self._begins_clause():
            alias = exp.TableAlias(this=self.name())
        if alias is not None:
            self.placed(alias, at)
        return self.placed(exp.Table(this=name, alias=alias), begin)

    def _begins_clause(self) -> bool:
        """Whether a plain word begins a clause here rather than being an alias."""
        return (self.text, self.ahead(1)) == ("PARTITION", "BY") or (
            self.text == "EMIT" and self.ahead(1) in ("CHANGES", "FINAL")
        )

    def _join(self) -> exp.Expr | None:
        begin = self.index
        word = self.accept_any(self.JOINS)
        side = self.JOINS.get(word, "")
        if side:
            self.accept("OUTER")
        if word:
            self.expect("JOIN")
        elif not self.accept("JOIN"):
            return None
        this = self._relation()
        self.expect("ON")
        return self.placed(nodes.StreamJoin(this=this, side=side, on=self.expression()), begin)

    def _window(self) -> exp.Expr:
        begin = self.index - 1
        kind = self.accept_any(self.WINDOWS)
        if not kind:
            self.fail()
        self.expect("(")
        self.expect("SIZE")
        size = self._duration()
        advance = retention = grace = None
        if kind == "HOPPING":
            self.expect(",")
            self.expect("ADVANCE", "BY")
            advance = self._duration()
        if self.accept(",", "RETENTION"):
            retention = self._duration()
        if self.accept(",", "GRACE", "PERIOD"):
            grace = self._duration()
        self.expect(")")
        return self.placed(
            nodes.TimeWindow(kind=kind, size=size, advance=advance, retention=retention, grace=grace), begin
        )

    def _duration(self) -> exp.Expr:
        begin = self.index
        number = self._whole_number("a whole number")
        unit = self.text
        if unit not in self.UNITS:
            self.want("a time unit")
            self.fail(hint=f"units are {', '.join(u for u in self.UNITS if u.endswith('S'))}")
        self.index += 1
        return self.placed(nodes.Duration(this=number, unit=unit), begin)

    def _by_list(self) -> list[exp.Expr]:
        """A list whose outer brackets, if they enclose all of it, mean nothing."""
        if self.text == "(" and self._closes_clause():
            begin = self.index
            self.index += 1
            items = [self.expression()]
            if isinstance(items[0], self.NO_VALUES):  # these brackets enclose one condition, not a list
                self.expect(")")
                return [self.placed(exp.Paren(this=items[0]), begin)]
            while self.accept(","):
                items.append(self.value())
            self.expect(")")
            return items
        return self.comma_list(self.value)

    def _closes_clause(self) -> bool:
        depth = 0
        for position in range(self.index, len(self.tokens)):
            text = self._texts[position]
            depth += (text == "(") - (text == ")")
            if depth == 0:
                after = self._texts[position + 1]
                return after in ("", ";", "HAVING", "EMIT", "LIMIT", "PARTITION")
        return False

    # ------------------------------------------------------------ sources

    def _create(self) -> exp.Expr:
        kind = self._kind()
        exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name(f"the name of the {kind.lower()}")
        columns = None
        if self.accept("("):
            columns = self.comma_list(self._column)
            self.expect(")")
        properties = self._properties() if self.accept("WITH") else None
        query = None
        if columns is None and self.accept("AS"):
            self.expect("SELECT")
            query = self.query()
        return nodes.CreateSource(
            this=name, kind=kind, columns=columns, properties=properties, query=query, exists=exists
        )

    def _kind(self) -> str:
        kind = self.accept_any(("STREAM", "TABLE"))
        if not kind:
            self.fail()
        return kind

    def _column(self) -> exp.Expr:
        begin = self.index
        name = self.name("a column name")
        type_name = self.type_name()
        constraint = header = None
        if self.text == "HEADER":
            self.expect("HEADER", "(")
            constraint, header = "HEADER", self.string("the name of a header in '…'")
            self.expect(")")
        elif self.text == "HEADERS":
            self.index += 1
            constraint = "HEADERS"
        elif self.accept("PRIMARY", "KEY"):
            constraint = "PRIMARY KEY"
        elif self.accept("KEY"):
            constraint = "KEY"
        return self.placed(nodes.ColumnSpec(this=name, type=type_name, constraint=constraint, header=header), begin)

    def _properties(self) -> list[exp.Expr]:
        self.expect("(")
        properties = self.comma_list(self._property)
        self.expect(")")
        return properties

    def _property(self) -> exp.Expr:
        begin = self.index
        key: exp.Expr = self.string() if self.is_type(STRING) else self.name("a property")
        self.expect("=")
        return self.placed(exp.Property(this=key, value=self._literal()), begin)

    def _literal(self) -> exp.Expr:
        begin = self.index
        if self.is_type(STRING):
            return self.string()
        if self.text == "-" and self.is_type(NUMBER, steps=1):
            self.index += 1
            return self.placed(exp.Neg(this=self._number(negative=True)), begin)
        if self.is_type(NUMBER):
            return self._number()
        constant = self.CONSTANTS.get(self.text)
        if constant is None:
            self.want("a literal")
            self.fail()
        self.index += 1
        return self.placed(constant(), begin)

    def _insert(self) -> exp.Expr:
        self.expect("INTO")
        name = self.name("a stream or table")
        columns = None
        if self.accept("("):
            columns = self.comma_list(lambda: self.name("a column name"))
            self.expect(")")
        self.expect("VALUES")
        self.expect("(")
        values = self.comma_list(self.value)
        self.expect(")")
        return nodes.InsertValues(this=name, columns=columns, expressions=values)

    def _drop(self) -> exp.Expr:
        kind = self._kind()
        exists = self.accept("IF", "EXISTS")
        name = self.name(f"the name of the {kind.lower()}")
        return nodes.DropSource(this=name, kind=kind, exists=exists, delete_topic=self.accept("DELETE", "TOPIC"))

    # ------------------------------------------------------------ the rest

    def _show(self) -> exp.Expr:
        if self.accept("ALL"):
            self.expect("TOPICS")
            return nodes.Show(kind="TOPICS", extended=False, all=True)
        kind = self.accept_any(self.SHOWN)
        if not kind:
            self.fail()
        return nodes.Show(kind=kind, extended=self.SHOWN[kind] and self.accept("EXTENDED"), all=False)

    def _describe(self) -> exp.Expr:
        if self.text == "FUNCTION" and self.is_name(1):
            self.index += 1
            return nodes.DescribeFunction(this=self.name())
        name = self.name("a stream or table")
        return nodes.DescribeSource(this=name, extended=self.accept("EXTENDED"))

    def _explain(self) -> exp.Expr:
        begin = self.index
        if self.accept("SELECT"):
            return nodes.Explain(statement=self.query())
        if self.accept("CREATE"):
            create = self.placed(self._create(), begin)
            if create.args.get("query") is None:
                self.want("AS SELECT")
                self.fail()
            return nodes.Explain(statement=create)
        return nodes.Explain(this=self.name("a query id"))

    def _terminate(self) -> exp.Expr:
        return nodes.Terminate(**self._which())

    def _pause(self) -> exp.Expr:
        return nodes.Pause(**self._which())

    def _resume(self) -> exp.Expr:
        return nodes.Resume(**self._which())

    def _which(self) -> dict[str, object]:
        return {"all": True} if self.accept("ALL") else {"this": self.name("a query id")}

    def _set(self) -> exp.Expr:
        key = self.string("a property in '…'")
        self.expect("=")
        return nodes.SetProperty(this=key, expression=self.string("a value in '…'"))

    def _unset(self) -> exp.Expr:
        return nodes.UnsetProperty(this=self.string("a property in '…'"))
