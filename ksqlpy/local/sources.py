"""Statements that declare sources, without a server: they make a catalog, and nothing anywhere else.

A file that a server runs can be given as it is: sources of CREATE … AS SELECT are known too (their topics hold what the
server's queries write), and INSERT INTO … SELECT is passed over, since it declares nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlglot import exp

from ksqlpy.analysis import CreateAs, Declare, Text, TopicSpec, analyze_create, analyze_type
from ksqlpy.catalog import Catalog, Source
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, ConfigProblem, KsqlError, file_reason, similar_names
from ksqlpy.local.inference import Inferred, inferred
from ksqlpy.sql import Parsed, nodes, parse

__all__ = ["Declared", "no_server", "read_text"]


@contextmanager
def no_server(sources: str = "declare it in a statement ahead of this one") -> Iterator[None]:
    """Errors have no hints that send to a server; ``sources``: what helps where a source is not known."""
    try:
        yield
    except KsqlError as e:
        if e.code == "unknown-source":
            e.hint = sources
        elif e.hint is not None and e.hint.startswith("SHOW "):
            e.hint = None
        raise


def read_text(file: Path) -> str:
    """The text of a file of statements; raises ConfigProblem ``file-unreadable``."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {file} cannot be read: {file_reason(e)}") from e


@dataclass
class Declared:
    """What the statements so far have declared.

    ``topics``: the topics as CREATE with columns describes them, by source. ``properties``: as SET sets them.
    ``query``: the SELECT, if there was one. ``files``: by name, the file of a source; of one that no statement ahead of
    the first SELECT declares, a stream is made of it, which ``inferred`` has.
    """

    properties: dict[str, object] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    catalog: Catalog = field(default_factory=Catalog)
    topics: dict[str, TopicSpec] = field(default_factory=dict)
    query: Parsed | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    inferred: dict[str, Inferred] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The properties in force."""
        return Config.of({}).for_statement(self.properties)

    def take(self, sql: str, *, queries: bool = False) -> None:
        """Takes all statements of a text; ``queries``: one of them may be a SELECT, which must be the last of all.

        Raises StatementError, also for statements that do more than declare, and ConfigProblem.
        """
        with no_server():
            for parsed in parse(sql, self.variables):
                self._take(parsed, queries=queries)

    def source(self, name: str) -> Source:
        """The source of that name, in any case; raises AnalysisProblem ``unknown-source``."""
        found = self.catalog.sources.get(name) or self.catalog.sources.get(name.upper())
        if found is None:
            known = ", ".join(self.catalog.sources) or "none"
            raise AnalysisProblem(
                "unknown-source",
                f"no stream or table is called {name}",
                similar=similar_names(name, self.catalog.sources),
                hint=f"declared are: {known}",
            )
        return found

    def _take(self, parsed: Parsed, *, queries: bool) -> None:
        node, text = parsed.node, Text.of(parsed.sql, self.catalog)
        if self.query is not None:
            text.refuse("one-query", "the SELECT must be the last statement, and the only one", node)
        reads = isinstance(node, nodes.Query | nodes.UnionAll)
        if reads or (isinstance(node, nodes.CreateSource) and node.args.get("query") is not None):
            self._infer(None if reads else {table.name for table in node.find_all(exp.Table)})
        match node:
            case nodes.CreateSource():
                self._create(parsed, text)
            case nodes.CreateType():
                self.catalog = self.catalog.with_type(node.this.this, analyze_type(parsed, self.catalog))
            case nodes.SetProperty():
                self.properties[node.this.this] = node.expression.this
                self._check_property(node.this.this, parsed)
            case nodes.UnsetProperty():
                self.properties.pop(node.this.this, None)
            case nodes.Define():
                self.variables[node.this.this] = node.expression.this
            case nodes.Undefine():
                for name in [n for n in self.variables if n.upper() == node.this.this.upper()]:
                    del self.variables[name]
            case nodes.InsertSelect():
                return
            case nodes.Query() | nodes.UnionAll() if queries:
                self.query = parsed
            case _:
                text.refuse(
                    "declarations-only",
                    "this statement has nothing here that it could act on",
                    node,
                    hint="CREATE STREAM, TABLE or TYPE, SET and DEFINE are taken here",
                )

    def _infer(self, read: Container[str] | None) -> None:
        """Makes streams for files of which no source is declared; ``read``: those that a statement reads, None: all."""
        for name, file in self.files.items():
            known = {name, name.upper()} & self.catalog.sources.keys()
            if not known and (read is None or name.upper() in read):
                found = inferred(name, file)
                self.inferred[found.source.name] = found
                self.catalog = self.catalog.with_source(found.source)

    def _check_property(self, name: str, parsed: Parsed) -> None:
        try:
            Config.of({}).for_statement(self.properties)
        except ConfigProblem as e:
            del self.properties[name]
            e.span, e.sql = Text(parsed.sql).span(parsed.node), parsed.sql
            raise

    def _create(self, parsed: Parsed, text: Text) -> None:
        node = parsed.node
        name: str = node.this.this
        if name in self.catalog.sources and not node.args.get("replace"):
            if not node.args.get("exists"):
                text.refuse("already-exists", f"{name} is declared twice", node.this, hint="leave one of them out")
            return
        made: Declare | CreateAs = analyze_create(parsed, self.catalog, self.config)
        self.catalog = self.catalog.with_source(made.source)
        if isinstance(made, Declare):
            self.topics[made.source.name] = made.topic
