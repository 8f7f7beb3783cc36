"""``:name`` in a query: a value of the program as a literal of the language.

Values become trees, which the printer of the language writes; no text of a program is pasted. Only the places of the
parameters change, so that what is refused can be told where the program wrote it.

A text that was bound is to be run without variables: a ``${x}`` in a value stays what it is.
"""

from __future__ import annotations

import difflib
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from sqlglot import exp

from ksqlpy.errors import AnalysisProblem, KsqlError, SyntaxProblem, shown
from ksqlpy.sql import Substitution, nodes, to_sql
from ksqlpy.sql.tokens import Parameter, parameters

__all__ = ["Bound", "bind", "first_word", "literal"]

_MAX_BIGINT = 2**63
_MAX_DIGITS = 38
_MAX_DEPTH = 40
"""So deep may lists and dicts be nested; the language has a limit of its own, which is wider."""


@dataclass(frozen=True)
class Bound:
    """A text with its values. ``written``: the text as the program wrote it."""

    written: str
    substitution: Substitution

    @property
    def text(self) -> str:
        """What is to be run."""
        return self.substitution.text

    def placed(self, error: KsqlError) -> KsqlError:
        """The error, with its place in what the program wrote if it has one in the text that was run."""
        if error.sql == self.text and self.substitution.pieces:
            error.sql = self.written
            if error.span is not None:
                error.span = self.substitution.origin(error.span)
        return error


def bind(sql: str, values: Mapping[str, object]) -> Bound:
    """The text with a literal in the place of each ``:name``.

    Raises SyntaxProblem ``unbound-parameter``, AnalysisProblem ``unused-parameter`` and ``unsupported-value``, with the
    place; and what the tokenizer raises for texts and comments without end.
    """
    found = parameters(sql) if ":" in sql else []
    _check_names(sql, found, values)
    texts = {p.name: (_text_of(values[p.name], p, sql)) for p in reversed(found)}
    out: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    done, size = 0, 0
    for parameter in found:
        start, end = parameter.span.start, parameter.span.end
        text = texts[parameter.name]
        if parameter.operand and text.startswith("-"):
            message = f"the value {text} of :{parameter.name} cannot stand here"
            hint = "an operator is missing before the parameter"
            raise SyntaxProblem("unsupported-value", message, span=parameter.span, sql=sql, hint=hint)
        # A blank keeps two quotes or two signs from being read as one.
        ahead = " " if start and sql[start - 1] not in _APART else ""
        behind = " " if end < len(sql) and sql[end] not in _APART else ""
        kept = f"{sql[done:start]}{ahead}"
        size += len(kept)
        out += [kept, text, behind]
        pieces.append((size, size + len(text), start, end))
        size += len(text) + len(behind)
        done = end
    return Bound(sql, Substitution("".join([*out, sql[done:]]), tuple(pieces)))


def first_word(sql: str) -> str:
    """The word or symbol by which a text begins, behind comments, in upper case; empty for an empty text."""
    found = _FIRST.match(sql)
    return "" if found is None else found[1].upper()


_FIRST = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w+|\S)", re.DOTALL)
_APART = " \t\r\n(),;[]"


def _check_names(sql: str, found: Sequence[Parameter], values: Mapping[str, object]) -> None:
    named = {p.name for p in found}
    for parameter in found:
        if parameter.name not in values:
            raise SyntaxProblem(
                "unbound-parameter",
                f"the parameter :{parameter.name} has no value",
                span=parameter.span,
                sql=sql,
                hint=f"give it one: {parameter.name}=…",
                similar=difflib.get_close_matches(parameter.name, sorted(set(values) - named), n=1),
            )
    for name in values:
        if name not in named:
            raise AnalysisProblem(
                "unused-parameter",
                f"the statement has no parameter :{name}",
                sql=sql,
                hint=f"its parameters are {', '.join(f':{n}' for n in dict.fromkeys(p.name for p in found))}"
                if found
                else f"write :{name} where its value shall stand",
            )


def _text_of(value: object, parameter: Parameter, sql: str) -> str:
    try:
        return to_sql(literal(value))
    except _Unsupported as e:
        raise AnalysisProblem(
            "unsupported-value", f"the value of :{parameter.name} {e}", span=parameter.span, sql=sql, hint=e.hint
        ) from None


# ---------------------------------------------------------------- values


class _Unsupported(Exception):
    """A value that no literal says; its text goes on with "the value …"."""

    def __init__(self, why: str, hint: str | None = None) -> None:
        super().__init__(why)
        self.hint = hint


def literal(value: object, depth: int = 0) -> exp.Expr:
    """The tree of a literal that has exactly this value.

    TIMESTAMP and TIME have milliseconds: what is finer is cut. A datetime without a zone is UTC.
    """
    if depth > _MAX_DEPTH:
        raise _Unsupported(f"is nested more than {_MAX_DEPTH} levels deep")
    value = _plain(value)
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            if not -_MAX_BIGINT <= value < _MAX_BIGINT:
                raise _Unsupported("does not fit a BIGINT", "give a Decimal")
            return _signed(str(abs(value)), negative=value < 0)
        case float():
            return _double(value)
        case Decimal():
            return _decimal(value)
        case str():
            return _string(value)
        case bytes() | bytearray() | memoryview():
            return _cast(b64encode(value).decode(), "BYTES")
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC)
            return _cast(moment.replace(tzinfo=None).isoformat(timespec="milliseconds"), "TIMESTAMP")
        case date():
            return _cast(value.isoformat(), "DATE")
        case time():
            if value.tzinfo is not None:
                raise _Unsupported("is a time of day with a zone", "TIME has no zone: give a datetime")
            return _cast(value.isoformat(timespec="milliseconds"), "TIME")
        case Mapping():
            if not all(isinstance(k, str) for k in value):
                raise _Unsupported("is a dict whose keys are not all str", "a MAP has STRING keys")
            entries = [(_string(str(k)), v) for k, v in value.items()]
            return nodes.MapOf(expressions=_entries(entries, depth))
        case tuple() if hasattr(value, "_fields"):
            names = [exp.to_identifier(str(n).upper(), quoted=True) for n in value._fields]
            return exp.Struct(expressions=_entries(list(zip(names, value, strict=True)), depth))
        case list() | tuple():
            return exp.Array(expressions=[literal(v, depth + 1) for v in value])
    kind = type(value)
    raise _Unsupported(
        f"is of the type {kind.__module__}.{kind.__qualname__}, which no literal has: {shown(value)}",
        "give None, bool, int, float, Decimal, str, bytes, datetime, date, time, a list, a dict or a namedtuple",
    )


def _plain(value: object) -> object:
    """A number or text of NumPy as Python has it."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        scalar: Any = value
        return scalar.item()
    return value


def _signed(number: str, *, negative: bool) -> exp.Expr:
    made = exp.Literal(this=number, is_string=False)
    return exp.Neg(this=made) if negative else made


def _double(value: float) -> exp.Expr:
    if math.isnan(value) or math.isinf(value):
        return _cast("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity", "DOUBLE")
    text = float.__repr__(abs(value))
    return _signed(text if "e" in text else f"{text}E0", negative=math.copysign(1, value) < 0)


def _decimal(value: Decimal) -> exp.Expr:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise _Unsupported("is a Decimal that is not a number", "a DECIMAL is always a number: give a float, or None")
    # The digits with the zeros that are written out; the exponent may be as large as anything.
    if max(len(digits) + max(exponent, 0), -exponent) > _MAX_DIGITS:
        raise _Unsupported(f"has more than {_MAX_DIGITS} digits", "a DECIMAL has so many at most")
    text = f"{value.copy_abs():f}"
    if exponent < 0:
        return _signed(text, negative=value.is_signed())
    return nodes.DecimalLiteral(this=exp.Literal.string(f"-{text}" if value.is_signed() else text))


def _string(value: str) -> exp.Expr:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _Unsupported(f"is a text with half of a character, which is no Unicode: {shown(value)}") from None
    return exp.Literal.string(str(value))


def _cast(text: str, name: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=nodes.TypeName(this=name))


def _entries(pairs: Sequence[tuple[exp.Expr, object]], depth: int) -> list[exp.Expr]:
    return [exp.PropertyEQ(this=name, expression=literal(value, depth + 1)) for name, value in pairs]
