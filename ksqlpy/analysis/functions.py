"""CREATE FUNCTION: what a function in Python is, checked as far as that can be without running it.

Source of the rules: this project's own; ksqlDB has functions in Java only.
"""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.analysis.typenames import data_type
from ksqlpy.catalog import Catalog
from ksqlpy.errors import AnalysisProblem, Span, similar_names
from ksqlpy.functions import FUNCTIONS
from ksqlpy.sql import Parsed, nodes
from ksqlpy.types import SqlType
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.text import TextProblem, is_parameter, source_of

__all__ = ["analyze_function", "place_in_text"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
_TIMEOUT = re.compile(r"\s*([0-9]{1,9})\s+([A-Za-z]+?)[sS]?\s*\Z")
_LONGEST_MS = 3_600_000
_ON_ERROR = ("null", "dead-letter", "stop")
_SPECIAL = ("ARRAY", "MAP", "STRUCT", *nodes.OVER_FUNCTIONS)
"""Names of calls that are no functions."""


def analyze_function(parsed: Parsed, catalog: Catalog) -> Definition:
    """The definition that CREATE FUNCTION makes; there may be a function of that name. Raises AnalysisProblem."""
    node, text = parsed.node, Text.of(parsed.sql, catalog)
    assert isinstance(node, nodes.CreateFunction)
    name = _name(node.this, text)
    parameters = _parameters(node, text)
    options = _options(node, text)
    returns = data_type(node.args["returns"], text)
    state = data_type(node.args["state"], text) if node.args.get("state") is not None else None
    if state is not None and node.args.get("determinism") == "NOT DETERMINISTIC":
        hint = "give it what is not deterministic as an argument"
        text.refuse("not-deterministic", "the results of an aggregate must follow from its rows", node.this, hint=hint)
    body, called, help, methods = _source(node, name, parameters, text)
    return Definition(
        name,
        node.args["kind"],
        parameters,
        returns,
        body,
        called,
        deterministic=node.args.get("determinism") != "NOT DETERMINISTIC",
        help=help,
        state=state,
        undo="undo" in methods,
        merge="merge" in methods,
        **options,  # type: ignore[arg-type]  # a name with its value each
    )


def _name(node: exp.Expr, text: Text) -> str:
    name: str = node.this.upper()
    if not _NAME.match(name):
        message = "the name of a function may hold letters, digits and _ only, up to 100 of them"
        text.refuse("bad-name", message, node)
    if FUNCTIONS.find(name) is not None or name in _SPECIAL:
        message, hint = f"{name} is a function of the language", "choose another name"
        text.refuse("already-exists", message, node, hint=hint)
    return name


def _parameters(node: nodes.CreateFunction, text: Text) -> tuple[tuple[str, SqlType], ...]:
    """With the names that they have in Python: in lower case, unless the quoted name has such letters itself."""
    found: dict[str, SqlType] = {}
    for spec in node.args["parameters"]:
        written: str = spec.this.this
        name = written.lower() if written == written.upper() else written
        if not is_parameter(name):
            text.refuse("bad-name", f"a parameter in Python cannot be called {name}", spec.this)
        if name in found:
            text.refuse("duplicate-parameter", f"parameter {name} is given twice", spec.this)
        found[name] = data_type(spec.args["type"], text)
    return tuple(found.items())


def _options(node: nodes.CreateFunction, text: Text) -> dict[str, object]:
    """What WITH says."""
    found: dict[str, object] = {}
    for given in node.args.get("properties") or ():
        name: str = given.this.name.upper()
        value = given.args["value"]
        written = value.this if isinstance(value, exp.Literal) else None
        key, meant = "", object()
        if name == "ON_ERROR":
            if not isinstance(written, str) or written.lower() not in _ON_ERROR:
                text.refuse("invalid-property", "ON_ERROR must be 'null', 'dead-letter' or 'stop'", value)
            if node.args["kind"] == "AGGREGATE" and written.lower() == "dead-letter":
                message = "ON_ERROR of an aggregate must be 'null' or 'stop'"
                hint = "its methods are called for groups, of which no record is left; a function ahead of it has one"
                text.refuse("invalid-property", message, value, hint=hint)
            key, meant = "on_error", written.lower()
        elif name == "TIMEOUT":
            key, meant = "timeout_ms", _timeout(written, value, text)
        else:
            similar = similar_names(name, ("ON_ERROR", "TIMEOUT"))
            hint = "there are ON_ERROR and TIMEOUT"
            text.refuse("unknown-property", f"functions have no property {name}", given.this, hint, similar)
        if key in found:
            text.refuse("duplicate-property", f"property {name} is given twice", given.this)
        found[key] = meant
    return found


def _timeout(written: object, node: exp.Expr, text: Text) -> int:
    parts = _TIMEOUT.match(written) if isinstance(written, str) else None
    unit = nodes.UNIT_MILLIS.get(parts[2].upper()) if parts is not None else None
    millis = int(parts[1]) * unit if parts is not None and unit is not None else 0
    if not 1 <= millis <= _LONGEST_MS:
        text.refuse("invalid-property", "TIMEOUT must be a time such as '1 second', an hour at most", node)
    return millis


def _source(
    node: nodes.CreateFunction, name: str, parameters: tuple[tuple[str, SqlType], ...], text: Text
) -> tuple[str, str, str, frozenset[str]]:
    body = node.args["body"]
    if isinstance(body, exp.Literal):
        if not _MODULE.match(body.this):
            hint = "write 'module:callable', or the text between $$ and $$"
            text.refuse("bad-function", f"'{body.this}' names no function of a module", body, hint=hint)
        return "", body.this, "", frozenset()
    try:
        made = source_of(body.this, name, [n for n, _ in parameters], node.args["kind"])
    except TextProblem as e:
        _refuse(e, body, text)
    return made.body, made.callable, made.help, made.methods


def _refuse(problem: TextProblem, body: exp.Expr, text: Text) -> NoReturn:
    span = place_in_text(body, problem.line, problem.column)
    raise AnalysisProblem("bad-function", problem.message, span=span, sql=text.sql, hint=problem.hint) from problem


def place_in_text(body: exp.Expr, line: int, column: int = 1) -> Span:
    """Where in the statement's text a line and column of the text of Python are, both from 1."""
    start = body.meta["start"] + 2  # behind $$
    lines = body.this.split("\n")
    line = min(line, len(lines))
    at = start + sum(len(before) + 1 for before in lines[: line - 1]) + min(column - 1, len(lines[line - 1]))
    return Span(at, at + 1)
