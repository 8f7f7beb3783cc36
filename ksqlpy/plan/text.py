"""A typed expression as SQL-like text, for EXPLAIN and messages."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.analysis import typed as t
from ksqlpy.types import UNIT

__all__ = ["expression_text", "listed"]


def listed(expressions: Sequence[t.Expr]) -> str:
    """Several expressions, or ``none``."""
    return ", ".join(map(expression_text, expressions)) or "none"


def expression_text(expr: t.Expr) -> str:
    """An expression as SQL-like text, with implied casts written out."""
    text = expression_text
    match expr:
        case t.ColumnRef(name=name):
            return next((n for n, (internal, _) in t.SYSTEM.items() if internal == name), name)
        case t.Literal(type=kind, value=str(value)) if kind == UNIT:
            return value
        case t.Lambda(parameters=parameters, body=body):
            return f"({', '.join(p.removeprefix('__') for p in parameters)}) => {text(body)}"
        case t.LambdaRef(name=name):
            return name.removeprefix("__")
        case t.Literal(value=str(value)):
            return "'" + value.replace("'", "''") + "'"
        case t.Literal(value=value):
            return "NULL" if value is None else str(value).upper() if isinstance(value, bool) else str(value)
        case t.FunctionCall() | t.TableCall():
            return f"{expr.call.function.name}({', '.join(map(text, expr.arguments))})"
        case t.AggregateCall(call=call, arguments=arguments, limit=limit):
            kept = "" if limit is None else f" [at most {limit}]"
            return f"{call.function.name}({', '.join(map(text, arguments)) or '*'}){kept}"
        case t.OverCall(function=function, partition=partition, value=argument, offset=offset, default=default):
            given = [] if argument is None else [text(argument), str(offset), *([text(default)] if default else [])]
            return f"{function}({', '.join(given)}) OVER (PARTITION BY {listed(partition)})"
        case t.Cast(type=type_, value=value):
            return f"CAST({text(value)} AS {type_})"
        case t.Arithmetic(op=op, left=left, right=right) | t.Compare(op=op, left=left, right=right):
            return f"({text(left)} {op} {text(right)})"
        case t.Logical(op=op, left=left, right=right):
            return f"({text(left)} {op} {text(right)})"
        case t.Negate(value=value):
            return f"-{text(value)}"
        case t.Not(value=value):
            return f"NOT {text(value)}"
        case t.IsNull(value=value):
            return f"{text(value)} IS NULL"
        case t.Between(value=value, low=low, high=high):
            return f"({text(value)} BETWEEN {text(low)} AND {text(high)})"
        case t.InList(value=value, items=items):
            return f"{text(value)} IN ({', '.join(map(text, items))})"
        case t.Like(value=value, pattern=pattern):
            return f"{text(value)} LIKE {text(pattern)}"
        case t.Case(whens=whens, default=default):
            shown = " ".join(f"WHEN {text(c)} THEN {text(r)}" for c, r in whens)
            return f"CASE {shown} ELSE {text(default)} END"
        case t.FieldRef(value=value, name=name):
            return f"{text(value)}->{name}"
        case t.Index(value=value, index=index):
            return f"{text(value)}[{text(index)}]"
        case t.ArrayOf(items=items):
            return f"ARRAY[{', '.join(map(text, items))}]"
        case t.MapOf(entries=entries):
            return f"MAP({', '.join(f'{text(k)} := {text(v)}' for k, v in entries)})"
        case t.StructOf(fields=fields):
            return f"STRUCT({', '.join(f'{n} := {text(v)}' for n, v in fields)})"
    raise TypeError(f"unknown expression {expr!r}")
