"""The statements of a project's files: read one by one, also behind one that is wrong; what each makes and uses."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ksqlpy.config import Config
from ksqlpy.errors import KsqlError, Span, SyntaxProblem
from ksqlpy.project.faults import say_variables
from ksqlpy.project.files import File
from ksqlpy.runtime.statements import Effect, statement_of
from ksqlpy.sql import Parsed, Parts, nodes, parse
from ksqlpy.sql.tokens import IDENTIFIER, SYMBOLS, Token, tokenize

__all__ = ["Refused", "Statement", "in_order", "only_define", "statements_of"]


@dataclass(frozen=True)
class Statement:
    """A statement of a file.

    ``properties``: those that SET has made for it in its file; ``makes``, ``uses``: names of sources, of types as
    ``type NAME``, and of functions as ``function NAME``; ``variables``: whether a name, in upper case, has a value.
    """

    file: File
    parsed: Parsed
    properties: Mapping[str, object] = field(default_factory=dict)
    makes: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    variables: Container[str] = ()

    @property
    def of_session(self) -> bool:
        """Whether it only changes what holds for those behind it in the same file."""
        return statement_of(self.parsed.node).effect is Effect.SESSION

    @property
    def defines(self) -> bool:
        """Whether it says what there shall be."""
        return statement_of(self.parsed.node).defines


@dataclass(frozen=True)
class Refused:
    """A part of a file that is no statement; ``makes``: what it would have made, as far as its words tell.

    A SET that cannot be is one too: it changes nothing, and one error is enough.
    """

    file: File
    error: KsqlError
    makes: frozenset[str] = frozenset()


def statements_of(
    file: File, variables: Mapping[str, str], *, any_property: bool = False
) -> Iterator[Statement | Refused]:
    """The statements of a file, with the values of variables, those of DEFINE among them.

    ``any_property``: SET may name a property that only the server knows.
    """
    properties: Mapping[str, object] = {}
    changes: dict[str, list[tuple[int, bool]]] = {name.upper(): [(0, True)] for name in variables}
    for number, part in enumerate(_parts(file, variables)):
        if isinstance(part, Refused):
            yield part
            continue
        node = part.node
        if isinstance(node, nodes.SetProperty) and not any_property:
            try:
                Config.of({}).for_statement({node.this.this: node.expression.this})
            except KsqlError as e:
                e.span, e.sql = Span(part.start, part.start + len(part.text)), file.sql
                yield Refused(file, e)
                continue
        made, used = frozenset(_made(node)), frozenset(_used(node))
        yield Statement(file, part, properties, made, used, _Known(changes, number))
        if isinstance(node, nodes.SetProperty):
            properties = {**properties, node.this.this: node.expression.this}
        elif isinstance(node, nodes.UnsetProperty):
            properties = {name: value for name, value in properties.items() if name != node.this.this}
        elif isinstance(node, nodes.Define | nodes.Undefine):
            changes.setdefault(node.this.this.upper(), []).append((number + 1, isinstance(node, nodes.Define)))


@dataclass(frozen=True)
class _Known:
    """The variables that have a value for a statement of a file; a set for each would be a large one, for many.

    ``changes``: from which statement on a variable has one, and from which it has none.
    """

    changes: Mapping[str, Sequence[tuple[int, bool]]]
    number: int

    def __contains__(self, name: object) -> bool:
        said = [known for number, known in self.changes.get(str(name), ()) if number <= self.number]
        return bool(said) and said[-1]


def only_define(statements: Iterable[Statement]) -> bool:
    """Whether they only say what there shall be, so that their order does not count."""
    return all(s.defines or s.of_session for s in statements)


def in_order(statements: Sequence[Statement]) -> list[Statement]:
    """The statements so that each comes behind those that make what it uses, else as they stand."""
    makers: dict[str, Statement] = {}
    for statement in statements:
        for name in statement.makes:
            makers.setdefault(name, statement)
    ordered: dict[int, Statement] = {}
    begun: set[int] = set()
    for statement in statements:
        # Not by recursion: files may have a long chain of statements.
        left = [statement]
        while left:
            now = left[-1]
            needed = () if id(now) in begun else sorted(now.uses, reverse=True)
            begun.add(id(now))  # of a circle, which the check will refuse, one is done ahead of what it uses
            more = [makers[name] for name in needed if name in makers and id(makers[name]) not in begun]
            if more:
                left += more
            else:
                ordered.setdefault(id(now), left.pop())
    return list(ordered.values())


# ---------------------------------------------------------------- parsing


def _parts(file: File, variables: Mapping[str, str]) -> Iterator[Parsed | Refused]:
    try:
        yield from parse(file.sql, variables)
    except SyntaxProblem:
        yield from _one_by_one(file, variables)


def _one_by_one(file: File, variables: Mapping[str, str]) -> Iterator[Parsed | Refused]:
    sql, unreadable = file.sql, None
    try:
        tokens = tokenize(sql)
    except SyntaxProblem as e:
        unreadable = e
        tokens = tokenize(sql[: e.span.start if e.span is not None else 0])
    parts, first = Parts(sql, variables), 0
    for index, token in enumerate(tokens):
        ends = token.token_type is SYMBOLS[";"]
        if not ends and (index + 1 < len(tokens) or unreadable is not None):
            continue
        part = tokens[first : index + 1]
        first = index + 1
        try:
            yield parts.parsed(part)
        except SyntaxProblem as e:
            e.sql = sql
            yield Refused(file, say_variables(e, file, parts.known), frozenset(_promised(part)))
    if unreadable is not None:
        unreadable.span = unreadable.span or Span(len(sql), len(sql))
        unreadable.sql = sql
        yield Refused(file, unreadable, frozenset(_promised(tokens[first:])))


def _promised(tokens: Sequence[Token]) -> Iterator[str]:
    """The names behind CREATE STREAM, TABLE, TYPE and FUNCTION in what could not be parsed."""
    words = [(t.text if t.token_type == IDENTIFIER else t.text.upper()) for t in tokens]
    for index, word in enumerate(words):
        if word != "CREATE":
            continue
        rest = words[index + 1 : index + 9]
        kind = next((w for w in rest if w in ("STREAM", "TABLE", "TYPE", "FUNCTION")), None)
        if kind is None:
            continue
        rest = rest[rest.index(kind) + 1 :]
        if kind == "TABLE" and rest[:1] == ["FUNCTION"] and rest[1:2] not in ([], ["("], ["WITH"], ["AS"]):
            kind, rest = "FUNCTION", rest[1:]
        if rest[:3] == ["IF", "NOT", "EXISTS"]:
            rest = rest[3:]
        if rest:
            yield {"TYPE": f"type {rest[0]}", "FUNCTION": f"function {rest[0].upper()}"}.get(kind, rest[0])


# ---------------------------------------------------------------- names


def _made(node: exp.Expr) -> Iterable[str]:
    if isinstance(node, nodes.CreateSource):
        yield node.this.this
    elif isinstance(node, nodes.CreateType):
        yield f"type {node.this.this}"
    elif isinstance(node, nodes.CreateFunction):
        yield f"function {node.this.this.upper()}"


def _used(node: exp.Expr) -> Iterator[str]:
    if isinstance(node, nodes.Explain) and node.args.get("statement") is not None:
        yield from _used(node.args["statement"])
        return
    if isinstance(
        node,
        nodes.InsertSelect
        | nodes.InsertValues
        | nodes.DeleteFrom
        | nodes.AlterSource
        | nodes.DropSource
        | nodes.DescribeSource,
    ):
        yield node.this.this
    local = {c.alias for c in node.find_all(exp.CTE)}
    for part in node.walk():
        if isinstance(part, exp.Table) and part.this.this not in local:
            yield part.this.this
        elif isinstance(part, nodes.TypeName) and part.args.get("user"):
            yield f"type {part.this}"
        elif isinstance(part, exp.Anonymous):
            yield f"function {part.this.upper()}"
