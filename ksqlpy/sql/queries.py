"""Queries: SELECT with its clauses, subqueries, CTEs and UNION ALL.

Source of the rules: ksqlDB manual, "SELECT (push query)", "SELECT (pull query)", "CREATE STREAM AS SELECT", "Joins",
"Time and windows". Subqueries, WITH, UNION ALL and ORDER BY are this project's own; they stand only where ksqlDB has an
error, so UNION, ORDER, ASC, DESC, NULLS, FIRST and LAST stay plain names everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NoReturn

from sqlglot import exp

from ksqlpy.sql import nodes
from ksqlpy.sql.expressions import MAX_DEPTH, Expressions
from ksqlpy.sql.tokens import WORD

__all__ = ["Queries"]


class Queries(Expressions):
    """Reads queries."""

    JOINS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"INNER": "", "LEFT": "LEFT", "RIGHT": "RIGHT", "FULL": "FULL"}
    )
    """First word of a join, and the side it stands for; OUTER may follow where there is a side."""

    WINDOWS: ClassVar[tuple[str, ...]] = ("TUMBLING", "HOPPING", "SESSION")
    LONGER_UNITS: ClassVar[dict[str, int]] = {
        f"{unit}{s}": days for unit, days in (("WEEK", 7), ("MONTH", 30), ("YEAR", 365)) for s in ("", "S")
    }
    """Units that the language does not have, in days."""
    EMITS: ClassVar[tuple[str, ...]] = ("CHANGES", "FINAL")

    UNITS: ClassVar[tuple[str, ...]] = tuple(unit + end for unit in nodes.UNIT_MILLIS for end in ("", "S"))

    CLAUSES: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        (
            ("PARTITION", "BY"),
            ("EMIT", "CHANGES"),
            ("EMIT", "FINAL"),
            ("ORDER", "BY"),
            ("UNION", "ALL"),
        )
    )
    """Plain words that begin a clause, rather than being an alias, where this word follows."""

    STARTS: ClassVar[frozenset[str | tuple[str, str]]] = CLAUSES - {("UNION", "ALL")} | {
        *("FROM", "JOIN", "WINDOW", "WHERE", "HAVING", "LIMIT"),
        ("GROUP", "BY"),
    }
    """How clauses begin that have their place ahead of the end of a query."""

    ORDER: ClassVar[str] = "FROM, JOIN, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, EMIT CHANGES, LIMIT"

    # ------------------------------------------------------------ whole queries

    def begins_query(self) -> bool:
        """Whether a query stands here."""
        return self.at("SELECT") or self.at("WITH")

    def query(self) -> exp.Expr:
        """Reads a Query or a UnionAll from its first word on, SELECT or WITH; raises SyntaxProblem."""
        begin = self.index
        tables = self._with() if self.accept("WITH") else None
        first = self._select()
        branches: list[exp.Expr] = [first]
        while self.accept("UNION", "ALL"):
            branches.append(self._select())
        whole: exp.Expr = first if len(branches) == 1 else nodes.UnionAll(expressions=branches)
        if tables is not None:
            whole.set("with_", tables)
        if (order := self.order_by()) is not None:
            whole.set("order", order)
        if self.accept("EMIT"):
            emit = self.accept_any(self.EMITS)
            if not emit:
                self.fail()
            whole.set("emit", emit)
        at = self.index
        if self.accept("LIMIT"):
            whole.set("limit", self.placed(exp.Limit(expression=self._whole_number("a number of rows")), at))
        if (self.text, self.ahead(1)) in self.STARTS or self.text in self.STARTS:
            clause = self.text if self.text in self.STARTS else f"{self.text} {self.ahead(1)}"
            self.fail_at(
                self.index,
                "misplaced-clause",
                f"{clause} stands too late here, or for the second time",
                hint=f"the order of clauses is {self.ORDER}",
            )
        return self.placed(whole, begin)

    def _with(self) -> exp.Expr:
        begin = self.index - 1
        return self.placed(exp.With(expressions=self.comma_list(self._common_table)), begin)

    def _common_table(self) -> exp.Expr:
        begin = self.index
        alias = self.placed(exp.TableAlias(this=self.name("the name of a query")), begin)
        self.expect("AS")
        return self.placed(exp.CTE(this=self._inner_query(), alias=alias), begin)

    def _inner_query(self) -> exp.Expr:
        self.expect("(")
        if not self.begins_query():
            self.fail()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.too_deep(f"More than {MAX_DEPTH} nested queries")
        query = self.query()
        self._depth -= 1
        self.expect(")")
        return query

    # ------------------------------------------------------------ SELECT

    def _select(self) -> nodes.Query:
        begin = self.index
        self.expect("SELECT")
        if self.text == "DISTINCT":
            self._no_distinct()
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
        return self.placed(query, begin)

    def _no_distinct(self) -> NoReturn:
        """Says how different rows are had: a table of groups."""
        begin = self.index + 1
        end = next((i for i in range(begin, len(self.tokens)) if self._texts[i] in ("FROM", ";")), len(self.tokens))
        listed = self.sql[self.tokens[begin].start : self.tokens[end - 1].end + 1] if begin < end else "a"
        self.fail_at(
            self.index,
            "no-distinct",
            "SELECT takes no DISTINCT",
            hint=f"rows that differ are groups: SELECT {listed}, COUNT(*) AS n FROM … GROUP BY {listed}",
        )

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

    def _relation(self) -> exp.Expr:
        begin = self.index
        inner = name = None
        if self.text == "(":
            inner = self._inner_query()
        else:
            name = self.name("a stream or table")
        alias = None
        at = self.index
        if self.accept("AS"):
            alias = exp.TableAlias(this=self.name("an alias"))
        elif self.is_name() and not self._begins_clause():
            alias = exp.TableAlias(this=self.name())
        if alias is not None:
            self.placed(alias, at)
        if inner is not None:
            return self.placed(exp.Subquery(this=inner, alias=alias), begin)
        return self.placed(exp.Table(this=name, alias=alias), begin)

    def _begins_clause(self) -> bool:
        return (self.text, self.ahead(1)) in self.CLAUSES

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
        within: list[exp.Expr] | None = None
        grace = None
        if self.accept("WITHIN"):
            if self.accept("("):
                within = [self._duration()]
                if self.text == ")":
                    self.want("','")
                    self.fail(hint="one length stands without brackets; in brackets are two, before and after")
                self.expect(",")
                within.append(self._duration())
                self.expect(")")
            else:
                within = [self._duration()]
            grace = self._duration() if self.accept("GRACE", "PERIOD") else None
        elif self.text in ("GRACE", "PERIOD"):  # GRACE may have been taken for an alias
            self.want("WITHIN")
            self.want("ON")
            self.fail(hint="GRACE PERIOD stands behind WITHIN: JOIN … WITHIN 1 HOUR GRACE PERIOD 5 MINUTES ON …")
        self.expect("ON")
        on = self.expression()
        return self.placed(nodes.StreamJoin(this=this, side=side, within=within, grace=grace, on=on), begin)

    def _window(self) -> exp.Expr:
        begin = self.index - 1
        kind = self.accept_any(self.WINDOWS)
        if not kind and self.is_type(WORD) and self.ahead(1) in self.WINDOWS:
            self.index += 1  # ksqlDB's grammar takes a name here and forgets it
            kind = self.accept_any(self.WINDOWS)
        if not kind:
            self.fail()
        self.expect("(")
        if kind != "SESSION":
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
        if self.text == "-":
            self.want("a whole number")
            self.fail(hint="a length of time is not negative, the shortest is 0 MILLISECONDS")
        number = self._whole_number("a whole number")
        unit = self.text
        if unit not in self.UNITS:
            self.want("a time unit")
            days = self.LONGER_UNITS.get(unit)
            meant = f"write {int(number.this) * days} DAYS; " if days is not None else ""
            self.fail(hint=f"{meant}units are {', '.join(u for u in self.UNITS if u.endswith('S'))}")
        self.index += 1
        return self.placed(nodes.Duration(this=number, unit=unit), begin)

    def _by_list(self) -> list[exp.Expr]:
        """A list whose outer brackets, if they enclose all of it, mean nothing; with nothing inside an empty one."""
        if self.text == "(" and self._closes_clause():
            begin = self.index
            self.index += 1
            if self.accept(")"):
                return []
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
                return after in ("", ";", ")", "HAVING", "EMIT", "LIMIT", "PARTITION", "ORDER", "UNION")
        return False
