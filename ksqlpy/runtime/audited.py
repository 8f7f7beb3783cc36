"""What the audit log is told of statements: each that is done, and the one that is refused or fails."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from sqlglot import exp

from ksqlpy.access import MissingRight, Need
from ksqlpy.audit import AUDIT, Decision, Outcome, Touched
from ksqlpy.catalog import Catalog, Source
from ksqlpy.config import PROPERTIES
from ksqlpy.errors import EngineProblem, KsqlError, reason_of
from ksqlpy.request import REQUEST
from ksqlpy.sql import Parsed, nodes

__all__ = ["Audited", "kind_of", "looked_up", "note", "noting_refusals"]


@dataclass
class _Done:
    parsed: Parsed
    seconds: float
    failure: KsqlError | None = None


@dataclass
class Audited:
    """The statements of a request, while they are checked and done; a context manager that notes them at its end.

    A request is checked as a whole before anything is done: what was to be done beside a statement that is refused has
    no line. ``sql``: its text; ``catalog``: gives what exists.
    """

    sql: str
    catalog: Callable[[], Catalog]
    needs: dict[int, dict[Need, None]] = field(default_factory=dict)
    """The rights that were asked for, of each statement by its identity, in their order."""
    _parsed: list[Parsed] = field(default_factory=list)
    _done: list[_Done] = field(default_factory=list)
    _mark: float = field(default_factory=time.monotonic)

    def __enter__(self) -> Self:
        self._audit = AUDIT.get()
        self._before = self.catalog() if self._audit is not None else None
        return self

    def read(self, parsed: list[Parsed]) -> list[Parsed]:
        """The text parses."""
        self._parsed = parsed
        return parsed

    def done(self, parsed: Parsed) -> None:
        """A statement was done."""
        now = time.monotonic()
        self._done.append(_Done(parsed, now - self._mark))
        self._mark = now

    def needed(self, parsed: Parsed, needs: Iterable[Need]) -> None:
        """Rights that a statement needs that are not asked of its sandbox."""
        self.needs.setdefault(id(parsed), {}).update(dict.fromkeys(needs))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._audit is None:
            return
        if isinstance(error, Exception):
            self._fail(error if isinstance(error, KsqlError) else EngineProblem("internal-error", reason_of(error)))
        self._audit.note(*self._unread, *map(self._decision, self._done))

    _unread: tuple[Decision, ...] = ()

    def _fail(self, error: KsqlError) -> None:
        seconds = time.monotonic() - self._mark
        if not self._parsed:
            self._unread = (Decision.failed("UNREADABLE", error, text=self.sql, readable=False, seconds=seconds),)
            return
        texts = error.statement_text
        for done in self._done:  # a record of an earlier INSERT was not written
            if done.parsed.text == texts and isinstance(done.parsed.node, nodes.InsertValues | nodes.DeleteFrom):
                done.failure = error
                return
        left = self._parsed[len(self._done) :] or self._parsed
        failed = next((p for p in left if p.text == texts), left[0])
        self._done.append(_Done(failed, seconds, error))

    def _topic(self, source: str) -> str | None:
        """The topic of a source, also of one that was dropped."""
        found = (c.sources.get(source) for c in (self.catalog(), self._before) if c is not None)
        return next((s.topic for s in found if s is not None), None)

    def _decision(self, done: _Done) -> Decision:
        error = done.failure
        needs = self.needs.get(id(done.parsed), {})
        if isinstance(error, MissingRight):
            needs = {**needs, error.need: None}
        objects = tuple(Touched.of(n, self._topic) for n in needs) + _property(done.parsed)
        kind, text = kind_of(done.parsed), done.parsed.text
        if error is not None:
            return Decision.failed(kind, error, text=text, objects=objects, seconds=done.seconds)
        return Decision(kind, Outcome.ALLOWED, text=text, objects=objects, seconds=done.seconds)


def _property(parsed: Parsed) -> tuple[Touched, ...]:
    """The property that a statement sets, if it is a known one: names of others may be anything."""
    if not isinstance(parsed.node, nodes.SetProperty | nodes.UnsetProperty | nodes.AlterSystem):
        return ()
    name = parsed.node.this.this
    return (Touched("property", name),) if name in PROPERTIES else ()


def kind_of(parsed: Parsed) -> str:
    """The kind of a statement, by its first words."""
    node = parsed.node
    if isinstance(node, nodes.Query | nodes.UnionAll):
        return "PULL QUERY" if node.args.get("emit") is None else "PUSH QUERY"
    if isinstance(node, nodes.CreateSource):
        return f"CREATE {node.args['kind']}" + (" AS SELECT" if node.args.get("query") is not None else "")
    if isinstance(node, nodes.DropSource | nodes.AlterSource):
        return f"{'DROP' if isinstance(node, nodes.DropSource) else 'ALTER'} {node.args['kind']}"
    return _KINDS.get(type(node)) or _words(type(node).__name__)


def _words(name: str) -> str:
    """CreateRole: CREATE ROLE."""
    return "".join(f" {c}" if c.isupper() and n else c for n, c in enumerate(name)).upper()


_KINDS: Mapping[type[exp.Expr], str] = {
    nodes.InsertValues: "INSERT VALUES",
    nodes.InsertSelect: "INSERT SELECT",
    nodes.DeleteFrom: "DELETE",
    nodes.SetProperty: "SET",
    nodes.UnsetProperty: "UNSET",
}


def looked_up(sql: str, source: Source, error: KsqlError | None = None) -> None:
    """Notes a lookup that was answered at once, or refused for its number."""
    audit = AUDIT.get()
    if audit is None:
        return
    request = REQUEST.get()
    fields: dict[str, Any] = {
        "text": sql,
        "objects": (Touched("source", source.name, "SELECT", source.topic),),
        "seconds": None if request is None else time.monotonic() - request.begun,
    }
    if error is None:
        audit.note(Decision("PULL QUERY", Outcome.ALLOWED, **fields))
    else:
        audit.note(Decision.failed("PULL QUERY", error, **fields))


@contextlib.contextmanager
def noting_refusals(kind: str) -> Iterator[None]:
    """Notes what ends with an error."""
    try:
        yield
    except KsqlError as e:
        note(kind, error=e)
        raise


def note(kind: str, *objects: Touched, error: KsqlError | None = None, refused: bool = False, **fields: object) -> None:
    """Notes what is no statement, done or failed; ``fields``: more that its line says.

    ``refused``: whether it is a refusal, whatever the code of the error.
    """
    audit = AUDIT.get()
    if audit is None:
        return
    request = REQUEST.get()
    seconds = None if request is None else time.monotonic() - request.begun
    if isinstance(error, MissingRight):
        objects = (*objects, Touched.of(error.need))
    if error is not None:
        failed = Decision.failed(kind, error, objects=objects, seconds=seconds, more=fields)
        audit.note(replace(failed, outcome=Outcome.REFUSED) if refused else failed)
    else:
        audit.note(Decision(kind, Outcome.ALLOWED, objects=objects, seconds=seconds, more=fields))
