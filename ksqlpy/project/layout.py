"""Where the lines of a statement may end: its tree as groups of tokens.

A group stands on one line if it fits there; else a line begins at each of its own breaks. Groups lie in each other as
the parts of the statement do. Nothing is printed here, and no token comes, goes or moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sqlglot import exp

from ksqlpy.sql import nodes
from ksqlpy.sql.tokens import IDENTIFIER, RESERVED, WORD, Token

__all__ = ["Group", "Indent", "Layout", "layout_of"]


@dataclass
class Group:
    """The tokens from ``start`` up to, without, ``end``."""

    start: int
    end: int


@dataclass(frozen=True)
class Indent:
    """Lines that begin ahead of the tokens ``first`` to ``last`` stand one step further in.

    ``only_after``: only if a line begins ahead of that token.
    """

    first: int
    last: int
    only_after: int | None = None


@dataclass
class Layout:
    """Places are numbers of tokens in the statement; a break at one is a line that begins with that token.

    ``breaks``: the group of each break; ``unless``: breaks that are none once that group is broken; ``pads``: blanks
    that bring a token under others, once that group is broken; ``names``: tokens that are names, which keep their
    case; ``calls``: tokens that an opening bracket follows without a blank; ``angles``: the brackets of types.
    """

    groups: list[Group] = field(default_factory=list)
    breaks: dict[int, Group] = field(default_factory=dict)
    unless: dict[int, Group] = field(default_factory=dict)
    indents: list[Indent] = field(default_factory=list)
    pads: dict[int, tuple[Group, int]] = field(default_factory=dict)
    names: set[int] = field(default_factory=set)
    calls: set[int] = field(default_factory=set)
    angles: set[int] = field(default_factory=set)


_CHAINS: Mapping[type[exp.Expr], tuple[tuple[type[exp.Expr], ...], tuple[str, ...]]] = MappingProxyType(
    {
        exp.And: ((exp.And,), ("AND",)),
        exp.Or: ((exp.Or,), ("OR",)),
        exp.Add: ((exp.Add, exp.Sub), ("+", "-")),
        exp.Sub: ((exp.Add, exp.Sub), ("+", "-")),
        exp.Mul: ((exp.Mul, exp.Div, exp.Mod), ("*", "/", "%")),
        exp.Div: ((exp.Mul, exp.Div, exp.Mod), ("*", "/", "%")),
        exp.Mod: ((exp.Mul, exp.Div, exp.Mod), ("*", "/", "%")),
        exp.DPipe: ((exp.DPipe,), ("||",)),
    }
)
"""Operators that form a chain of one level, and how they are written."""

_CALLS = (exp.Anonymous, exp.Cast, exp.Struct, nodes.MapOf, nodes.TypeName)


def layout_of(node: exp.Expr, tokens: Sequence[Token]) -> Layout:
    """The layout of a statement whose tree is ``node``."""
    return _Reader(node, tokens).layout


class _Reader:
    def __init__(self, root: exp.Expr, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.layout = Layout()
        self._at = {t.start: i for i, t in enumerate(tokens)}
        self._ends = {t.end: i for i, t in enumerate(tokens)}
        self._texts = ["" if t.token_type == IDENTIFIER else t.text.upper() for t in tokens]
        self._owner = self._group(0, len(tokens))
        self._closing = self._brackets()
        self._angled: dict[int, int] = {}
        self._paren_groups: dict[int, Group] = {}
        all_nodes = list(root.walk())
        for node in all_nodes:
            self._words(node)
        for node in all_nodes:
            if isinstance(node, nodes.TypeName) and node.this in ("ARRAY", "MAP", "STRUCT"):
                self._type(node)
        for open_, close in sorted(self._closing.items()):
            self._bracketed(open_, close)
        for node in all_nodes:
            for kind, method in self.PARTS.items():
                if isinstance(node, kind):
                    method(self, node)
                    break

    # ------------------------------------------------------------ places

    def _first(self, node: exp.Expr) -> int:
        return self._at[node.meta["start"]]

    def _last(self, node: exp.Expr) -> int:
        return self._ends[node.meta["end"]]

    def _back(self, position: int, *texts: str) -> int:
        """The nearest of these words or symbols ahead of a place."""
        while self._texts[position] not in texts:
            position -= 1
        return position

    def _group(self, start: int, end: int) -> Group:
        group = Group(start, end)
        self.layout.groups.append(group)
        return group

    def _brackets(self) -> dict[int, int]:
        open_: list[int] = []
        found = {}
        for i, token in enumerate(self.tokens):
            if token.token_type in (WORD, RESERVED, IDENTIFIER):
                continue
            if token.text in ("(", "["):
                open_.append(i)
            elif token.text in (")", "]"):
                found[open_.pop()] = i
        return found

    def _commas(self, start: int, end: int) -> Iterable[int]:
        """The places behind the commas from ``start`` to ``end`` that stand in no bracket between them."""
        i = start
        while i < end:
            if i in self._closing:
                i = self._closing[i]
            elif i in self._angled:
                i = self._angled[i]
            elif self._texts[i] == ",":
                yield i + 1
            i += 1

    # ------------------------------------------------------------ words, brackets

    def _words(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Identifier):
            if not isinstance(node.parent, exp.Property):
                self.layout.names.add(self._first(node))
        elif isinstance(node, _CALLS):
            self.layout.calls.add(self._first(node))
            if isinstance(node, nodes.TypeName) and node.args.get("user"):
                self.layout.names.add(self._first(node))
        elif isinstance(node, nodes.ColumnSpec) and node.args.get("header"):
            self.layout.calls.add(self._first(node.args["header"]) - 2)

    def _type(self, node: nodes.TypeName) -> None:
        open_ = self._first(node) + 1
        if open_ >= len(self._texts) or self._texts[open_] == "<>":
            self.layout.angles.add(open_)
            return
        if self._texts[open_] != "<":  # T ARRAY, the old way
            return
        close, depth = open_, 0
        while True:
            depth += {"<": 1, ">": -1}.get(self._texts[close], 0)
            if depth == 0:
                break
            close += 1
        self.layout.angles |= {open_, close}
        self._angled[open_] = close
        if node.this == "STRUCT" and close > open_ + 1:
            self._list(open_, close)

    def _bracketed(self, open_: int, close: int) -> None:
        head = self._texts[open_ - 1] if open_ else ""
        if close > open_ + 1 and head not in ("DECIMAL", "VARCHAR", "STRING"):
            self._paren_groups[open_] = self._list(open_, close)

    def _list(self, open_: int, close: int) -> Group:
        group = self._group(open_, close + 1)
        for place in (open_ + 1, close, *self._commas(open_ + 1, close)):
            self.layout.breaks[place] = group
        self.layout.indents.append(Indent(open_ + 1, close - 1))
        return group

    # ------------------------------------------------------------ statements

    def _create(self, node: exp.Expr) -> None:
        query = node.args.get("query")
        if query is not None:
            self._begin_query(query)
        properties = node.args.get("properties")
        if properties and query is None:
            with_ = self._first(properties[0]) - 2
            self.layout.breaks[with_] = self._owner
            self.layout.indents.append(Indent(with_, len(self.tokens), only_after=with_))
        columns = node.args.get("columns")
        if columns:
            open_ = self._first(columns[0]) - 1
            group = self._paren_groups[open_]
            if properties and query is None:
                self.layout.unless[with_] = group
            self._pad(columns, group)

    def _create_function(self, node: exp.Expr) -> None:
        """RETURNS and WITH begin lines; AS one that stands as far out as CREATE, as the text does."""
        places = [self._first(node.args["returns"]) - 1]
        properties = node.args.get("properties")
        if properties:
            places.append(self._first(properties[0]) - 2)
        body = self._first(node.args["body"]) - 1
        for place in (*places, body):
            self.layout.breaks[place] = self._owner
        self.layout.indents.append(Indent(places[0], body - 1))
        self.layout.calls.add(self._first(node.this))

    def _pad(self, columns: Sequence[exp.Expr], group: Group) -> None:
        """Brings the types of declared columns under each other."""
        widths = {}
        for column in columns:
            name = self.tokens[self._first(column.this)]
            widths[self._first(column.args["type"])] = name.end - name.start
        most = max(w for w in widths.values() if w <= 30) if any(w <= 30 for w in widths.values()) else 0
        for place, width in widths.items():
            self.layout.pads[place] = (group, max(0, most - width))

    def _begin_query(self, query: exp.Expr) -> None:
        """A query within a statement begins a line, and its clauses too."""
        self.layout.breaks[self._first(query)] = self._owner

    def _insert(self, node: exp.Expr) -> None:
        self._begin_query(node.args["query"])

    def _values(self, node: exp.Expr) -> None:
        words = self._back(self._first(node.expressions[0]) - 1, "VALUES", "KEY")
        self.layout.breaks[words] = self._owner
        self.layout.indents.append(Indent(words, len(self.tokens)))

    def _alter(self, node: exp.Expr) -> None:
        first = self._first(node.this) + 1
        for place in (first, *self._commas(first, len(self.tokens))):
            self.layout.breaks[place] = self._owner
        self.layout.indents.append(Indent(first, len(self.tokens)))

    # ------------------------------------------------------------ queries

    def _query(self, node: exp.Expr) -> None:
        parent = node.parent
        if isinstance(parent, nodes.UnionAll):
            # A branch begins behind UNION ALL, which has a line of its own.
            group = self._group(self._first(node), self._last(node) + 1)
        elif parent is None or isinstance(parent, nodes.CreateSource | nodes.InsertSelect):
            group = self._owner
        else:
            group = self._group(self._first(node), self._last(node) + 1)
        breaks = self.layout.breaks
        with_ = node.args.get("with_")
        if with_ is not None:
            for place in (self._last(with_) + 1, *self._commas(self._first(with_), self._last(with_))):
                breaks[place] = group
        if isinstance(node, nodes.UnionAll):
            for branch in node.expressions[1:]:
                breaks[self._first(branch)] = group
                breaks[self._first(branch) - 2] = group
        else:
            self._clauses(node, group)
        for key in ("order", "limit"):
            if node.args.get(key):
                breaks[self._first(node.args[key])] = group
        if node.args.get("emit"):
            limit = node.args.get("limit")
            breaks[(self._first(limit) if limit else self._last(node) + 1) - 2] = group

    def _clauses(self, node: exp.Expr, group: Group) -> None:
        breaks = self.layout.breaks
        items = node.expressions
        first, last = self._first(items[0]), self._first(node.args["from_"]) - 1
        listed = self._group(first, last + 1)
        for place in (first, *self._commas(first, last)):
            breaks[place] = listed
        self.layout.indents.append(Indent(first, last))
        listed.start -= 1  # the line may begin ahead of the first item
        for part in (node.args["from_"], *(node.args.get("joins") or ())):
            breaks[self._first(part)] = group
        for key in ("window", "where", "group", "partition", "having"):
            part = node.args.get(key)
            if part is not None:
                breaks[self._first(part)] = group
                if key == "window":  # its brackets stand further in by themselves
                    self.layout.names |= {self._first(part) + 1} - {self._back(self._last(part), "(") - 1}
                else:
                    self.layout.indents.append(Indent(self._first(part) + 1, self._last(part)))

    def _join(self, node: exp.Expr) -> None:
        group = self._group(self._first(node), self._last(node) + 1)
        on = self._back(self._first(node.args["on"]) - 1, "ON")
        places = [on]
        if node.args.get("within"):
            places.append(self._back(self._first(node.args["within"][0]) - 1, "WITHIN"))
        for place in places:
            self.layout.breaks[place] = group
        self.layout.indents.append(Indent(min(places), self._last(node)))

    def _grouping(self, node: exp.Expr) -> None:
        group = self._group(self._first(node), self._last(node) + 1)
        for place in self._commas(self._first(node), self._last(node)):
            self.layout.breaks[place] = group

    # ------------------------------------------------------------ expressions

    def _chain(self, node: exp.Expr) -> None:
        kinds, texts = _CHAINS[type(node)]
        if isinstance(node.parent, kinds) and node.arg_key == "this":
            return  # the top of the chain does it
        group = self._group(self._first(node), self._last(node) + 1)
        link: exp.Expr = node
        place = None
        while isinstance(link, kinds):
            place = self._back(self._first(link.args["expression"]) - 1, *texts)
            self.layout.breaks[place] = group
            link = link.this
        assert place is not None
        # Below WHERE and HAVING the lines stand further in already.
        if not isinstance(node.parent, exp.Where | exp.Having):
            self.layout.indents.append(Indent(place, self._last(node)))

    def _case(self, node: exp.Expr) -> None:
        group = self._group(self._first(node), self._last(node) + 1)
        branches = node.args["ifs"]
        places = [self._first(b) for b in branches]
        if node.args.get("default"):
            places.append(self._back(self._first(node.args["default"]) - 1, "ELSE"))
        end = self._last(node)
        for place in (*places, end):
            self.layout.breaks[place] = group
        self.layout.indents.append(Indent(places[0], end - 1))
        for branch in branches:
            inner = self._group(self._first(branch), self._last(branch) + 1)
            then = self._back(self._first(branch.args["true"]) - 1, "THEN")
            self.layout.breaks[then] = inner
            self.layout.indents.append(Indent(then, self._last(branch)))

    PARTS: Mapping[type[exp.Expr], Callable[[_Reader, exp.Expr], None]] = MappingProxyType(
        {
            nodes.CreateSource: _create,
            nodes.CreateConnector: _create,
            nodes.CreateFunction: _create_function,
            nodes.InsertSelect: _insert,
            nodes.InsertValues: _values,
            nodes.AssertValues: _values,
            nodes.AssertTombstone: _values,
            nodes.AlterSource: _alter,
            nodes.Query: _query,
            nodes.UnionAll: _query,
            nodes.StreamJoin: _join,
            exp.Group: _grouping,
            nodes.PartitionBy: _grouping,
            exp.Case: _case,
            **dict.fromkeys(_CHAINS, _chain),
        }
    )
    """The parts of statements that have breaks of their own."""
