"""A plan in words: the text of EXPLAIN, and the same as data."""

from __future__ import annotations

from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.plan.mode import REAL_TIME, Mode
from ksqlpy.plan.nodes import (
    Aggregate,
    Filter,
    FlatMap,
    Node,
    Plan,
    Project,
    Scan,
    TableChanges,
    TableFilter,
    TableJoin,
    TablesJoin,
    Union,
    inputs_of,
    nodes_of,
)
from ksqlpy.types import UNIT

__all__ = ["expression_text", "plan_json", "plan_text", "plan_tree"]


def plan_text(plan: Plan, mode: Mode = REAL_TIME) -> str:
    """The tree, then the mode and what a restart may repeat, and why."""
    return f"{plan_tree(plan)}\nmode: {_mode(plan, mode)}\nexactly once: {_guarantee(plan)}"


def plan_tree(plan: Plan) -> str:
    """The tree, one node a line, inputs indented."""
    lines: list[str] = []

    def add(node: Node, depth: int) -> None:
        name, detail = _describe(node)
        lines.append(f"{'  ' * depth}{name} {detail}".rstrip())
        for below in inputs_of(node):
            add(below, depth + 1)

    add(plan.root, 0)
    return "\n".join(lines)


def plan_json(plan: Plan, mode: Mode = REAL_TIME) -> dict[str, Any]:
    """The same as nested objects: ``node``, ``detail``, ``inputs``.

    At the top also ``mode`` with ``notRealTime``, the reasons against real time, and ``exactlyOnce``.
    """

    def data(node: Node) -> dict[str, Any]:
        name, detail = _describe(node)
        return {"node": name, "detail": detail, "inputs": [data(n) for n in inputs_of(node)]}

    return {
        **data(plan.root),
        "mode": _mode(plan, mode),
        "notRealTime": list(mode.reasons),
        "exactlyOnce": _guarantee(plan),
    }


def _mode(plan: Plan, mode: Mode) -> str:
    text = mode.text
    if plan.ordered_backlog:
        text += "; the backlog is read first, in event-time order"
    return text


def _guarantee(plan: Plan) -> str:
    """What a restart may repeat (docs/internals/exactly-once.md)."""
    nodes = list(nodes_of(plan.root))
    filtered = any(isinstance(n, TableFilter) for n in nodes)
    if any(isinstance(n, TableJoin) and _multiplies(n.input) for n in nodes):
        return "yes, where all records lie in one partition; else a restart may join results of one record otherwise"
    if filtered and any(isinstance(n, TableJoin | Union) for n in nodes):
        return "yes, where all records lie in one partition; else a restart may order rows without a result otherwise"
    hidden = any(isinstance(n, TableFilter) and isinstance(n.input, Aggregate) for n in nodes)
    if hidden and any(isinstance(n, TablesJoin) for n in nodes):
        return (
            "not after a restart, which may order rows of groups that HAVING hid otherwise:"
            " a result may repeat, or be missing until its group changes again"
        )
    return "yes"


def _multiplies(node: Node) -> bool:
    """Whether several rows of one record may come out."""
    below = list(nodes_of(node))
    topics = [n.relation.source.topic for n in below if isinstance(n, Scan)]
    return any(isinstance(n, FlatMap) for n in below) or len(set(topics)) < len(topics)


def _describe(node: Node) -> tuple[str, str]:
    match node:
        case Scan(relation):
            s = relation.source
            alias = "" if relation.alias == s.name else f" AS {relation.alias}"
            formats = f"key {s.key_format}, value {s.value_format}"
            return f"Scan {s.kind.lower()}", f"{s.name}{alias} [topic {s.topic}, {formats}]"
        case Filter(_, predicate):
            return "Filter", expression_text(predicate)
        case TableFilter(_, predicate, _):
            return "Filter table", expression_text(predicate)
        case TableJoin(_, tables, ways, left):
            equal = [f"= {expression_text(s.relation.ref(s.relation.source.keys[0]))}" for s in tables]
            if len(ways) == 1:
                return f"{ways[0].capitalize()} join", f"{expression_text(left)} {equal[0]}"
            each = "".join(f" {way} {key}" for way, key in zip(ways, equal, strict=True))
            return "Join with tables", f"{expression_text(left)}{each}"
        case TablesJoin(tables, kinds, key):
            shown = [expression_text(s.relation.ref(s.relation.source.keys[0])) for s in tables]
            joined = "".join(f" {k} {s}" for k, s in zip(kinds, shown[1:], strict=True))
            return "Join tables", f"{shown[0]}{joined} AS {key.name}"
        case FlatMap(_, calls):
            return "Flat map", ", ".join(map(expression_text, calls))
        case TableChanges(_, keys):
            return "Changes of table", f"by {', '.join(map(expression_text, keys))}"
        case Aggregate(_, keys, aggregates, window):
            detail = f"by {', '.join(map(expression_text, keys))}: {', '.join(map(expression_text, aggregates))}"
            if window is not None:
                advance = f", advance {window.advance} ms" if window.kind == "HOPPING" else ""
                detail += f" [{window.kind} {window.size} ms{advance}, grace {window.grace} ms"
                detail += f", late records to topic {window.late_topic}]" if window.late_topic is not None else "]"
            return "Aggregate", detail
        case Union(branches):
            return "Union", f"of {len(branches)}"
        case Project(_, outputs):
            return "Project", ", ".join(
                f"{expression_text(o.expr)} AS {o.name}{' KEY' if o.key else ''}" for o in outputs
            )


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
