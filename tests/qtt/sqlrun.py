"""One case of a SQL test file run.

Records that are inserted go through all queries in order. A query that runs between two statements does not change
what the next one says, so queries run late: ahead of a statement that may change or end one, and at the end. An ASSERT
of values takes the records by their order in the topic, so it too can wait.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ksqlpy.catalog import PartSpec, Source
from ksqlpy.errors import KsqlError
from ksqlpy.sql import nodes, parse
from ksqlpy.testing.memory import MemoryEngine, run_query
from ksqlpy.types import BOOLEAN, DOUBLE, STRING, DecimalType, SqlType

from .compare import same
from .encoding import Seen, decoded
from .judge import Verdict, columns_of
from .refusals import unfit
from .run import IGNORED, first_line, offer_topics
from .schemas import Schemas
from .sqlfiles import SqlCase, statements_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_sql_case"]


class _AssertionFailed(Exception):
    """An ASSERT does not hold; ``values``: it was one of records, not of a source."""

    def __init__(self, message: str, *, values: bool) -> None:
        super().__init__(message)
        self.values = values


def run_sql_case(case: SqlCase, session: SparkSession, folder: Path | None = None) -> Verdict:
    """The verdict of a case; raises nothing."""
    own = Path(tempfile.mkdtemp(prefix="ksqlpy-sql-", dir=folder))
    wanted = f"expected: {case.error} {case.message}"
    run = _SqlRun(session, own)
    try:
        run.all(statements_of(case.sql))
    except _AssertionFailed as e:
        meant = "AssertionError" in case.error if e.values else "Exception" in case.error and "xpected" in case.message
        if meant:
            return Verdict("passed", f"{e}; {wanted}")
        return Verdict("failed", f"assertion: {e}", "an ASSERT does not hold")
    except KsqlError as e:
        if "KsqlException" not in case.error:
            return Verdict("failed", f"refused: {e.code}: {e.summary()}", f"refused: {e.code}: {e.message[:70]}")
        if not run.at_end:
            return Verdict("failed", f"refused too early: {e.code}: {e.message}; {wanted}", f"too early: {e.code}")
        why = unfit(e, {"type": case.error, "message": case.message})
        said = f"{e.code}: {e.message}; {wanted}"
        if why is not None:
            return Verdict("failed", f"{why}: {said}", f"negative, {why}: {e.code}: {e.message[:70]}")
        return Verdict("passed", f"refused: {said}")
    except Exception as e:  # whatever it is belongs to the case
        return Verdict("failed", f"crash: {type(e).__name__}: {first_line(e)}", f"crash: {type(e).__name__}")
    finally:
        shutil.rmtree(own, ignore_errors=True)
    if case.error:
        return Verdict("failed", f"nothing failed; {wanted}", "negative: nothing failed")
    return Verdict("passed")


_ASSERT = re.compile(r"ASSERT\s+(NULL\s+VALUES|VALUES|STREAM|TABLE)\b", re.IGNORECASE)
_NULL_VALUES = re.compile(r"ASSERT\s+NULL\s+VALUES\s+(.*?)\bKEY\s*(\(.*)", re.IGNORECASE | re.DOTALL)


class _SqlRun:
    def __init__(self, session: SparkSession, folder: Path) -> None:
        self.engine = MemoryEngine(session, number_queries=True)
        self.schemas = Schemas(self.engine.config.registry())
        self.folder = folder
        self.properties: dict[str, object] = {"auto.offset.reset": "earliest"}
        self.waiting: list[tuple[str, Source]] = []
        self.read: dict[str, int] = {}
        self.taken: dict[str, int] = {}
        self.at_end = False

    def all(self, statements: Sequence[str]) -> None:
        for number, statement in enumerate(statements, 1):
            self.at_end = number == len(statements)
            kind = _ASSERT.match(statement)
            if kind is None:
                self._do(statement)
            elif kind[1].upper() in ("STREAM", "TABLE"):
                self._assert_source(statement, kind[1].upper())
            else:
                self.waiting.append((statement, self._source(_target(statement))))
        self._settle()

    def _do(self, statement: str) -> None:
        offer_topics(statement, self.engine)
        if not re.match(r"(CREATE\s+(?!OR\b)|INSERT|SET\b|UNSET\b|DEFINE|UNDEFINE)", statement, re.IGNORECASE):
            self._settle()
        found = re.match(r"SET\s+'([^']+)'\s*=\s*'([^']*)'", statement, re.IGNORECASE)
        if found:
            if found[1] not in IGNORED:
                self.properties[found[1]] = found[2]
            return
        self.engine.execute(statement, self.properties)

    def _source(self, name: exp.Identifier) -> Source:
        source = self.engine.catalog.sources.get(name.this)
        if source is None:
            raise _AssertionFailed(f"there is no source {name.this}", values=False)
        return source

    def _settle(self) -> None:
        """Lets the queries read what they have not read yet, and then looks at the assertions that wait."""
        for query_id, spec in list(self.engine.specs.items()):
            done = self.read.get(query_id, -1)
            new = [s for t in spec.offsets for s in self.engine.broker.log[t] if s.arrival > done]
            if new:
                self.read[query_id] = max(s.arrival for s in new)
                run_query(
                    spec, self.engine, self.folder / f"{query_id}-{spec.era}", sorted(new, key=lambda s: s.arrival)
                )
        waiting, self.waiting = self.waiting, []
        for statement, source in waiting:
            self._assert_values(statement, source)

    # ------------------------------------------------------------ assertions

    def _assert_values(self, statement: str, source: Source) -> None:
        records = self.engine.broker.records().get(source.topic, [])
        at = self.taken.get(source.topic, 0)
        self.taken[source.topic] = at + 1
        if at >= len(records):
            raise _AssertionFailed(f"{source.name} has {at} records, no more", values=True)
        seen = decoded(records[at], source, self.schemas)
        node = _inserted(statement)
        names = [i.this for i in node.args.get("columns") or ()] or [c.name for c in source.columns]
        expected = dict(zip(names, map(_literal, node.expressions), strict=True))
        null = _NULL_VALUES.match(statement) is not None
        if null != (seen.value is None):
            raise _AssertionFailed(f"{source.name}[{at}]: value {seen.value}", values=True)
        actual = _by_column(seen, source)
        for name, value in expected.items():
            if name not in actual:
                raise _AssertionFailed(f"{source.name} has no column {name}", values=True)
            column = source.column(name)
            if not same(_as_type(value, column.type if column is not None else None), actual[name], lax=True):
                raise _AssertionFailed(f"{source.name}[{at}].{name} is {actual[name]}, not {value}", values=True)

    def _assert_source(self, statement: str, kind: str) -> None:
        [parsed] = parse("CREATE" + statement[len("ASSERT") :])
        node = parsed.node
        source = self._source(node.this)
        given = {q.this.name.upper(): q.args["value"].name for q in node.args.get("properties") or ()}
        if source.kind != kind:
            raise _AssertionFailed(f"{source.name} is a {source.kind}", values=False)
        if columns_of(node) != columns_of(_declared(source)):
            raise _AssertionFailed(f"{source.name} has the columns {source.schema_text}", values=False)
        found = {
            "KAFKA_TOPIC": source.topic,
            "KEY_FORMAT": source.key.format,
            "VALUE_FORMAT": source.value.format,
            "FORMAT": source.key.format if source.key.format == source.value.format else "",
            "TIMESTAMP": source.timestamp or "",
            "TIMESTAMP_FORMAT": source.timestamp_format or "",
            "WRAP_SINGLE_VALUE": str(source.value.wrapped).lower(),
            "WINDOW_TYPE": source.window.kind if source.window is not None else "",
        }
        for name, value in given.items():
            if name in found and found[name].upper() != value.upper():
                raise _AssertionFailed(f"{source.name}: {name} is {found[name]}, not {value}", values=False)


def _declared(source: Source) -> exp.Expr:
    text = f"CREATE STREAM S ({source.schema_text}) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');"
    node: exp.Expr = parse(text)[0].node
    return node


def _inserted(statement: str) -> exp.Expr:
    """An ASSERT of values as the INSERT that it looks like."""
    null = _NULL_VALUES.match(statement)
    written = re.sub(r"(?i)^ASSERT\s+VALUES", "INSERT INTO", statement)
    text = f"INSERT INTO {null[1]} VALUES {null[2]}" if null else written
    [parsed] = parse(text)
    assert isinstance(parsed.node, nodes.InsertValues)
    return parsed.node


def _target(statement: str) -> exp.Identifier:
    name: exp.Identifier = _inserted(statement).this
    return name


def _literal(node: exp.Expr) -> Any:
    """The value of a literal."""
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg):
        return -_literal(node.this)
    if isinstance(node, nodes.MapOf):
        return {_literal(p.this): _literal(p.expression) for p in node.expressions}
    if isinstance(node, exp.Struct):
        return {p.this.this: _literal(p.expression) for p in node.expressions}
    if isinstance(node, exp.Array):
        return [_literal(e) for e in node.expressions]
    if isinstance(node, exp.Literal):
        text = str(node.this)
        return text if node.is_string else int(text) if text.lstrip("-").isdigit() else Decimal(text)
    raise _AssertionFailed(f"this is no literal: {node!r}", values=True)


def _as_type(value: Any, type_: SqlType | None) -> Any:
    """The literal as the column holds it: numbers may be written as text."""
    if isinstance(value, str) and type_ is not None and type_ != STRING and not isinstance(type_, DecimalType):
        try:
            return Decimal(value)
        except ArithmeticError:
            return value
    return value


def _by_column(seen: Seen, source: Source) -> Mapping[str, Any]:
    return {
        "ROWTIME": seen.time,
        **_columns(source.key, seen.key),
        **_columns(source.value, seen.value),
        **({} if seen.window is None else {"WINDOWSTART": seen.window.start, "WINDOWEND": seen.window.end}),
    }


def _columns(part: PartSpec, tree: Any) -> dict[str, Any]:
    if tree is None:
        return {c.name: None for c in part.columns}
    if part.format == "DELIMITED":
        fields = str(tree).split(",")
        return {c.name: _delimited(f, c.type) for c, f in zip(part.columns, fields, strict=False)}
    if part.bare or part.format == "KAFKA":
        return {c.name: tree for c in part.columns}
    return {c.name: tree.get(c.name) for c in part.columns} if isinstance(tree, Mapping) else {}


def _delimited(field: str, type_: SqlType) -> Any:
    if type_ == STRING:
        return field
    if type_ == BOOLEAN:
        return field == "true"
    if not field:
        return None
    return float(field) if type_ == DOUBLE else Decimal(field) if isinstance(type_, DecimalType) else int(field)
