"""A SELECT becomes a typed query: every name resolved, every rule of the language checked.

Sources of the rules: ksqlDB's reference of SELECT and CREATE … AS SELECT (keys and names, windows, joins). After a
GROUP BY the outputs and HAVING speak of ``__k0, __k1, …`` (grouping expressions) and ``__a0, __a1, …`` (aggregates).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.expressions import NULL, ExpressionAnalyzer
from ksqlpy.analysis.items import Item, Star, partition_nodes
from ksqlpy.analysis.joins import (
    by_key,
    check_sides,
    check_topics,
    free_name,
    join_keys,
    named_keys,
    names_of,
    row_key,
    shared_key,
    stream_key,
    unnamed_key,
)
from ksqlpy.analysis.naming import bare, is_system, key_name, own_name
from ksqlpy.analysis.order import order_of
from ksqlpy.analysis.over import limited, ranking_of, taken_out
from ksqlpy.analysis.result import RANK, Grouping, JoinSpec, Output, Ranking, Relation, TypedQuery, View
from ksqlpy.analysis.scope import Scope, Text, find_source
from ksqlpy.analysis.undo import check_merge, check_undo
from ksqlpy.analysis.views import as_query, check_inner, read_with, union_view, view_of
from ksqlpy.analysis.windows import FORGETFUL, IDLE, LATE_TOPIC, check_final, read_window
from ksqlpy.catalog import Catalog, SourceKind
from ksqlpy.config import Config
from ksqlpy.formats import FORMATS
from ksqlpy.functions import Aggregate, AggregateSignature
from ksqlpy.sql import nodes
from ksqlpy.types import INTEGER

__all__ = ["analyze_query"]


def analyze_query(
    node: exp.Expr,
    catalog: Catalog,
    text: Text,
    *,
    persistent: bool,
    config: Config | None = None,
    check_kind: Callable[[SourceKind], None] | None = None,
) -> TypedQuery:
    """The typed query of a Query or UnionAll.

    ``persistent``: it writes a topic, so that key columns, names of pseudo columns and LIMIT have stricter rules.
    ``config``: the properties of the statement, by default the defaults. ``check_kind``: refuses a result that is a
    stream, or a table, before its columns are looked at: what is wrong with them may follow from that. Raises
    AnalysisProblem.
    """
    config = config or Config.of({})
    if not persistent:  # who looks on does not write late records
        config = Config({k: v for k, v in config.values.items() if k != LATE_TOPIC})
    return _QueryAnalyzer(as_query(node), catalog, text, persistent, config).analyze(check_kind)


class _QueryAnalyzer:
    """Analyzes one SELECT; ``views``: what WITH names around it, ``inner``: whether it stands in another query."""

    def __init__(
        self,
        node: nodes.Query,
        catalog: Catalog,
        text: Text,
        persistent: bool,
        config: Config,
        views: Mapping[str, View] | None = None,
        *,
        inner: bool = False,
    ) -> None:
        self.node, self.catalog, self.text, self.persistent, self.config = node, catalog, text, persistent, config
        self.inner = inner
        self.views = read_with(node, views or {}, catalog, text, self._view)
        args = node.args
        joined = bool(args.get("joins"))
        self.first = self._relation(args["from_"].this, joined)
        self.kind: SourceKind = self.first.source.kind
        # Who looks on may have all rows as one group; a table must have a key.
        calls = (c for e in node.expressions for c in e.find_all(exp.Anonymous))
        self.whole = not persistent and args.get("group") is None and any(map(self._is_aggregate, calls))
        self.grouped = args.get("group") is not None or self.whole
        self.synthetic: t.ColumnRef | None = None
        self.unnamed: tuple[str, t.ColumnRef] | None = None
        self.ranking: Ranking | None = None
        self.near = self.bounds_known = False
        self.key_names: tuple[t.Expr, ...] = ()
        """The columns that name the key of a join; any of them will do."""

    def _is_aggregate(self, call: exp.Anonymous) -> bool:
        return isinstance(self.text.functions.find(call.this), Aggregate)

    def _view(self, node: exp.Expr, views: Mapping[str, View], name: str | None) -> View:
        """The query in brackets, in FROM or in WITH."""
        check_inner(node, self.text)
        if isinstance(node, nodes.UnionAll) and node.args.get("with_") is None:
            return union_view([(n, self._view(n, views, None)) for n in node.expressions], name, self.text)
        query = as_query(node)
        analyzer = _QueryAnalyzer(query, self.catalog, self.text, True, self.config, views, inner=True)
        return view_of(analyzer.analyze(), name)

    def _relation(self, table: exp.Expr, joined: bool) -> Relation:
        view = None
        if isinstance(table, exp.Subquery):
            if joined and table.args.get("alias") is None:
                self.text.refuse("no-alias", "a query that is joined needs a name", table, hint="write (SELECT …) AS x")
            alias = table.args.get("alias")
            view = self._view(table.this, self.views, alias.this.this if alias is not None else None)
        else:
            view = self.views.get(table.this.this)
        source = view.source if view is not None else find_source(self.catalog, table.this, self.text)
        clauses = [n for n in ("group", "partition") if self.node.args.get(n) is not None]
        regrouped = source.kind == "TABLE" and view is None and clauses == ["group"]
        if source.window is not None and clauses and self.persistent and not regrouped:
            what = "grouped" if "group" in clauses else "repartitioned"
            self.text.refuse("windowed-source", f"{source.name} has a windowed key and cannot be {what}", table)
        format_ = FORMATS.get(source.value.format)  # None: what only a real ksqlDB knows, in a project's plan
        if format_ is not None and not format_.limits.regrouped and (joined or "group" in clauses):
            clause = "JOIN" if joined else "GROUP BY"
            self.text.refuse(
                "bad-format",
                f"{source.name} has values in format {source.value.format}, which {clause} does not take",
                table,
                hint="make a stream of it in another format: CREATE STREAM … WITH (VALUE_FORMAT = 'JSON') AS SELECT …",
            )
        if view is not None and "group" in clauses and any(q.grouping or q.ranking for q in view.queries):
            self.text.refuse(
                "nested-group",
                "the groups of an inner query cannot be grouped again",
                table,
                hint="make a table of the inner query: CREATE TABLE … AS SELECT …",
            )
        alias = table.args.get("alias")
        return Relation(source, alias.this.this if alias is not None else source.name, joined, view)

    def analyze(self, check_kind: Callable[[SourceKind], None] | None = None) -> TypedQuery:
        args, text = self.node.args, self.text
        joins, relations = self._joins(args.get("joins") or [])
        join_key = shared_key(joins, relations)
        self.synthetic = join_key if joins and not named_keys(joins) else None
        if joins and (len(self.first.source.keys) == 1 or self.kind == "STREAM"):
            self.key_names = names_of(joins, self.first) if self.synthetic is None else (self.synthetic,)
        self.near = any(j.within is not None for j in joins)
        windowed = self.first.source.window is not None
        self.unnamed = unnamed_key(joins, relations, join_key)
        scope = Scope(relations, window=windowed, unnamed=self.unnamed, near=self.near)
        expressions = ExpressionAnalyzer(scope, text)
        where = None
        if args.get("where") is not None:
            where = expressions.condition(args["where"].this, place="in WHERE")
        self.first, where = limited(self.first, where, args["from_"].this, text)
        relations = (self.first, *relations[1:])
        self._check_clauses()
        check_final(self.node, text)
        if check_kind is not None:
            check_kind("TABLE" if self.grouped else self.kind)
        tables: list[t.TableCall] = []
        over: list[t.OverCall] = []
        if self.grouped:
            items, grouping = self._grouped(relations)
            keys: tuple[t.Expr, ...] = tuple(t.ColumnRef(k.type, f"__k{i}") for i, k in enumerate(grouping.keys))
            partition = None
            kind: SourceKind = "TABLE"
        else:
            grouping, kind = None, self.kind
            partition = self._partition(expressions)
            items = []
            for i in self._items(expressions, relations, partition):
                expr = self._after_tables(i.expr, tables, i.node)
                expr = taken_out(expr, over, i.node, self.first.source, text, ranks=self.inner)
                items.append(replace(i, expr=expr))
            keys = partition if partition is not None else self._keys(joins, items)
            self.ranking = ranking_of(over)
            if self.ranking is not None:
                keys, kind = (*self.ranking.partition, RANK), "TABLE"
        outputs = self._outputs(items, keys, relations)
        own_key = row_key(joins, self.first, join_key)
        if own_key is not None and partition is None and not self.grouped and self.ranking is None:
            outputs = by_key(outputs, names_of(joins, self.first), own_key)
            keys = (own_key,) if keys else ()
        order = order_of(
            self.node,
            lambda n: expressions.analyze(n, aggregates=self.grouped, place="in ORDER BY"),
            outputs,
            text,
            persistent=self.persistent,
        )
        check_topics(args.get("joins") or [], relations, text)
        limit = args.get("limit")
        if limit is not None and self.persistent:
            text.refuse("misplaced-limit", "LIMIT is for SELECT … EMIT CHANGES, a persistent query has no end", limit)
        return TypedQuery(
            relations,
            joins,
            where,
            tuple(tables),
            grouping,
            partition,
            outputs,
            kind,
            int(limit.expression.this) if limit is not None else None,
            keys,
            join_key,
            () if self.ranking is not None else tuple(over),
            self.ranking,
            order,
            self.config.get("ksql.timestamp.throw.on.invalid") == "true",
        )

    # ------------------------------------------------------------ clauses

    def _check_clauses(self) -> None:
        args, refuse = self.node.args, self.text.refuse
        for clause, name in (("group", "GROUP BY"), ("partition", "PARTITION BY")):
            if args.get(clause) is not None and not args[clause].expressions:
                refuse("empty-list", f"{name} lists nothing", args[clause], hint="name at least one column")
        if not self.grouped:
            for clause, name in (("having", "HAVING"), ("window", "WINDOW")):
                if args.get(clause) is not None:
                    refuse("no-group-by", f"{name} needs GROUP BY", args[clause])
            for item in self.node.expressions:
                self._no_aggregate(item)
        if self.grouped and args.get("partition") is not None:
            refuse("partition-and-group", "PARTITION BY and GROUP BY exclude each other", args["partition"])
        if args.get("partition") is not None and self.kind == "TABLE":
            refuse("partition-of-table", "PARTITION BY needs a stream; the key of a table is fixed", args["partition"])
        if args.get("window") is not None and self.kind == "TABLE":
            refuse("window-of-table", f"WINDOW needs a stream, {self.first.source.name} is a table", args["window"])

    def _no_aggregate(self, node: exp.Expr) -> None:
        for call in node.find_all(exp.Anonymous):
            if self._is_aggregate(call):
                self.text.refuse("no-group-by", f"aggregate function {call.this} needs GROUP BY", call)

    def _joins(self, nodes_: Sequence[exp.Expr]) -> tuple[tuple[JoinSpec, ...], tuple[Relation, ...]]:
        relations = [self.first]
        joins: list[JoinSpec] = []
        for node in nodes_:
            right = self._relation(node.this, True)
            if right.view is not None:
                self.text.refuse(
                    "joined-query",
                    "a query cannot stand on the right of JOIN",
                    node.this,
                    hint="make a table of it: CREATE TABLE … AS SELECT …",
                )
            if self.kind == "TABLE" and self.first.view is not None:
                self.text.refuse(
                    "joined-query",
                    "a query that gives a table cannot be joined",
                    self.node.args["from_"].this,
                    hint="make a table of it: CREATE TABLE … AS SELECT …",
                )
            check_sides(node, relations, right, self.text)
            spec = join_keys(node, tuple(relations), joins, right, self.text)
            relations.append(right)
            if spec.within is not None:
                spec = replace(spec, key=stream_key(spec.left.type, relations, len(nodes_) - len(relations) + 1))
            joins.append(spec)
        return tuple(joins), tuple(relations)

    # ------------------------------------------------------------ SELECT items

    def _items(
        self,
        expressions: ExpressionAnalyzer,
        relations: tuple[Relation, ...],
        partition: tuple[t.Expr, ...] | None = None,
    ) -> list[Item]:
        items: list[Item] = []
        star = Star(
            self.node, expressions.scope, expressions, self.text, self.synthetic, partition, bounds=not self.persistent
        )
        for node in self.node.expressions:
            stood_for = star.items(node)
            if stood_for is not None:
                items += stood_for
                continue
            inner = node.this if isinstance(node, exp.Alias) else node
            place = "beside GROUP BY" if self.grouped else "in SELECT"
            expr = expressions.analyze(inner, aggregates=self.grouped, tables=not self.grouped, place=place)
            if expr.type == NULL:
                self.text.refuse("untyped", "this NULL has no type", inner, hint="CAST(NULL AS …) gives it one")
            if isinstance(node, exp.Alias):
                items.append(Item(node.args["alias"].this, expr, node, aliased=True))
            else:
                items.append(Item(own_name(inner, relations), expr, node))
        return items

    def _partition(self, expressions: ExpressionAnalyzer) -> tuple[t.Expr, ...] | None:
        clause = self.node.args.get("partition")
        if clause is None:
            return None
        keys: list[t.Expr] = []
        for node in partition_nodes(self.node):
            key = expressions.analyze(node, place="in PARTITION BY")
            if key.type == NULL:
                self.text.refuse("untyped", "this NULL has no type", node, hint="PARTITION BY NULL alone drops the key")
            if key in keys:
                self.text.refuse("duplicate-key", "this expression is listed twice in PARTITION BY", node)
            keys.append(key)
        return tuple(keys)

    def _keys(self, joins: tuple[JoinSpec, ...], items: list[Item]) -> tuple[t.Expr, ...]:
        """What identifies a row of the result; of a join the first side that is selected, or the first side."""
        if not self.persistent:
            return ()
        if not joins:
            view = self.first.view
            if view is not None and view.unkeyed is not None and not self.inner:
                self.text.refuse(
                    "key-missing",
                    f"the rows of the inner query have no key: {view.unkeyed}",
                    self.node.args["from_"].this,
                    hint="select the key there, or give another: SELECT … FROM (…) AS x PARTITION BY …",
                )
            keys = tuple(self.first.ref(c) for c in self.first.source.keys)
            as_selected = self.config.get("ksql.new.query.planner.enabled") == "true" and self.kind == "STREAM"
            return tuple(i.expr for i in items if i.expr in keys) if as_selected and view is None else keys
        if self.synthetic is not None:
            return (self.synthetic,)
        either = names_of(joins, self.first)
        if any(j.foreign for j in joins) and len(self.first.source.keys) > 1:
            return either
        selected = [i.expr for i in items]
        return (next((e for e in either if e in selected), either[0]),)

    # ------------------------------------------------------------ GROUP BY

    def _grouped(self, relations: tuple[Relation, ...]) -> tuple[list[Item], Grouping]:
        args, refuse = self.node.args, self.text.refuse
        clause = args.get("window")
        final = args.get("emit") == "FINAL"
        window = read_window(clause, self.text, self.config, final=final) if clause is not None else None
        # The windows of a table that is grouped are columns like others.
        of_windows = self.kind == "TABLE" and self.first.source.window is not None
        self.bounds_known = of_windows
        inner_scope = Scope(relations, window=of_windows, unnamed=self.unnamed, near=self.near)
        inner = ExpressionAnalyzer(inner_scope, self.text)
        keys: list[t.Expr] = []
        if self.whole:
            keys.append(t.Literal(INTEGER, 1))
        for node in args["group"].expressions if not self.whole else ():
            key = inner.analyze(node, place="in GROUP BY")
            if key in keys:
                refuse("duplicate-group", "this expression is listed twice in GROUP BY", node)
            keys.append(key)
        scope = replace(inner_scope, window=of_windows or window is not None)
        outer = ExpressionAnalyzer(scope, self.text)
        aggregates: list[t.AggregateCall] = []
        items = [
            replace(i, expr=self._after_grouping(i.expr, keys, aggregates, i.node))
            for i in self._items(outer, relations)
        ]
        if len(relations) > 1:  # ksqlDB's rule: a join has no window
            for i in items:
                hint = "join in a query of its own, and group its result: CREATE STREAM … AS SELECT … JOIN …"
                self._no_bounds(i.expr, "SELECT over a join", i.node, hint)
        having = None
        if args.get("having") is not None:
            node = args["having"].this
            condition = outer.condition(node, aggregates=True, place="in HAVING")
            self._no_bounds(condition, "HAVING", node)
            having = self._after_grouping(condition, keys, aggregates, node)
        if not aggregates:
            refuse("no-aggregate", "GROUP BY needs an aggregate function in SELECT or HAVING", args["group"])
        if self.kind == "TABLE":
            check_undo(aggregates, self.first.source, self.node, self.text)
        if window is not None and window.kind == "SESSION":
            check_merge(aggregates, self.node, self.text)
        idle = self.config.number(IDLE) if final and self.config.get(IDLE) else None
        forgetful = final and self.config.get(FORGETFUL) == "true"
        limited = tuple(map(self._limited, aggregates))
        return items, Grouping(tuple(keys), limited, window, having, final, idle, forgetful)

    def _limited(self, call: t.AggregateCall) -> t.AggregateCall:
        """With the number of values that the properties let it keep."""
        assert isinstance(call.call.signature, AggregateSignature)
        limited_by = call.call.signature.limit
        if limited_by is None or not self.config.get(limited_by):
            return call
        return replace(call, limit=self.config.number(limited_by))

    def _after_tables(self, expr: t.Expr, tables: list[t.TableCall], node: exp.Expr) -> t.Expr:
        """The expression over the rows that table functions make."""

        def change(e: t.Expr) -> t.Expr | None:
            if not isinstance(e, t.TableCall):
                return None
            if self.kind == "TABLE":
                self.text.refuse(
                    "table-function-of-table",
                    f"table function {e.call.function.name} needs a stream, {self.first.source.name} is a table",
                    node,
                )
            if e not in tables:
                tables.append(e)
            return t.ColumnRef(e.type, f"__u{tables.index(e)}")

        return t.rewrite(expr, change)

    def _no_bounds(
        self,
        expr: t.Expr,
        where: str,
        node: exp.Expr,
        hint: str = "they are known once the rows of a window are aggregated: select them",
    ) -> None:
        if not self.bounds_known and any(isinstance(e, t.ColumnRef) and e.name in t.BOUNDS for e in t.walk(expr)):
            self.text.refuse(
                "window-bounds",
                f"WINDOWSTART and WINDOWEND cannot stand in {where}",
                node,
                hint=hint,
            )

    def _after_grouping(
        self, expr: t.Expr, keys: list[t.Expr], aggregates: list[t.AggregateCall], node: exp.Expr
    ) -> t.Expr:
        """The expression over the groups; refuses columns that are neither grouped nor aggregated."""

        def change(e: t.Expr) -> t.Expr | None:
            if e in keys:
                return t.ColumnRef(e.type, f"__k{keys.index(e)}")
            if isinstance(e, t.AggregateCall):
                self._no_bounds(e, "an aggregate function", node)
                if e not in aggregates:
                    aggregates.append(e)
                return t.ColumnRef(e.type, f"__a{aggregates.index(e)}")
            if isinstance(e, t.ColumnRef) and (e.name not in t.TIMES or (self.bounds_known and e.name in t.BOUNDS)):
                name = next((n for n in t.SYSTEM if t.system(n) == e), e.name)
                self.text.refuse(
                    "not-grouped",
                    f"column {name} is neither in GROUP BY nor inside an aggregate function",
                    node,
                    hint=f"add it to GROUP BY, or use an aggregate such as MAX({name})",
                )
            return None

        return t.rewrite(expr, change)

    # ------------------------------------------------------------ result columns

    def _outputs(
        self, items: list[Item], keys: tuple[t.Expr, ...], relations: tuple[Relation, ...]
    ) -> tuple[Output, ...]:
        outputs: list[Output] = []
        used: dict[str, exp.Expr] = {}
        sources = {c.name for r in relations for c in r.source.columns}
        fields = [isinstance(bare(i.node), nodes.FieldAccess) and not i.aliased for i in items]
        taken = {i.name for i, field in zip(items, fields, strict=True) if i.name is not None and not field}
        counter = 0
        seen: set[t.Expr] = set()
        for item, field in zip(items, fields, strict=True):
            name = item.name or self._generated(counter, taken | sources)
            if item.name is None:
                counter = int(name.removeprefix("KSQL_COL_")) + 1
            elif field:
                # A field's name gives way to columns of the sources, even if those are not selected.
                name = free_name(name, taken | sources | set(used))
            elif isinstance(item.node, nodes.StructStar):
                name = free_name(name, set(used))
            elif (
                not item.pseudo
                and name in t.SYSTEM
                and (self.persistent or (item.aliased and not is_system(item.expr)))
            ):
                self.text.refuse(
                    "reserved-name",
                    f"{name} is a pseudo column and cannot name a column of the result",
                    item.node,
                    hint=f"rename it, as in {name} AS {name}_VALUE",
                )
            if name in used:
                self.text.refuse(
                    "duplicate-column",
                    f"two columns of the result are called {name}",
                    item.node,
                    hint="give one an alias",
                )
            used[name] = item.node
            key = item.expr in keys and self.persistent
            if key and self.inner:
                key = item.expr not in seen  # what is selected once more is a copy
            elif key and item.expr in seen:
                self.text.refuse(
                    "key-twice",
                    f"the key column {name} is selected twice",
                    item.node,
                    hint="AS_VALUE(…) copies a key column into the value",
                )
            seen.add(item.expr)
            outputs.append(Output(name, item.expr, key))
        if self.persistent and (not self.inner or self.grouped or self.ranking is not None or self.kind == "TABLE"):
            self._check_keys(outputs, keys)
        if self.inner:
            return tuple(outputs)
        # The key has its columns in the order of its source, GROUP BY or PARTITION BY, not of SELECT.
        in_order = iter(sorted((o for o in outputs if o.key), key=lambda o: keys.index(o.expr)))
        return tuple(next(in_order) if o.key else o for o in outputs)

    @staticmethod
    def _generated(first: int, taken: set[str]) -> str:
        """The next free name of an expression without one."""
        return next(n for i in itertools.count(first) if (n := f"KSQL_COL_{i}") not in taken)

    def _check_keys(self, outputs: list[Output], keys: tuple[t.Expr, ...]) -> None:
        present = {o.expr for o in outputs if o.key}
        missing = [k for k in keys if k not in present]
        if missing:
            named = "PARTITION BY" if self.node.args.get("partition") or self.ranking is not None else "source"
            what = "GROUP BY" if self.grouped else named
            hint = f"every key column of the {what} must be selected"
            if self.key_names and what == "source":
                hint = "select " + " or ".join(key_name(k, self.node) for k in self.key_names)
                if missing[0] == self.synthetic:
                    hint += ", the key column of joined rows: no column of a source always holds it"
            names = ", ".join(key_name(k, self.node) for k in missing)
            self.text.refuse(
                "key-missing",
                f"the key of the result is missing from SELECT: {names}",
                self.node.expressions[0],
                hint=hint,
            )
        if all(o.key for o in outputs) and not self.inner:
            self.text.refuse(
                "no-values",
                "the result has no value column",
                self.node.expressions[0],
                hint="AS_VALUE(…) copies a key column into the value",
            )
