"""GROUP BY: Spark's own streaming aggregate, which merges each row and emits it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksqlpy.formats import text
from ksqlpy.functions import AggregateSignature, Change
from ksqlpy.plan.operators import Aggregate
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.marks import reached_on_lane, which_result
from ksqlpy.spark.operators.context import AS_READ, Context, struct_of
from ksqlpy.spark.operators.windows import in_windows
from ksqlpy.spark.rows import Col, Rows

__all__ = ["build"]

_READ = f"{Col.RAW} IS NULL"


def build(node: Aggregate, context: Context, records: Rows) -> Rows:
    """The new result of a group after each of its rows."""
    rows = context.build(node.input, records)
    shape = rows.shape
    places = [Col.PARTITION, Col.OFFSET, *shape.seen, *shape.only(Col.LANE), *shape.only(Col.ROW, Col.HEADERS)]
    reached, lane = reached_on_lane(shape), shape.lane
    # Rows of joined tables come from several topics: those of one key have an order only by their number.
    order = ["__nth"] if shape.seen_of_group else []
    rows = rows.plus(("__nth", Col.SEQ)) if order else rows
    grouped = _grouped(node, rows, [*places, *shape.only(Col.CAME, Col.SOURCE), *order])
    rows, keys = grouped.rows, list(grouped.keys)
    places += [c for c in rows.shape.only(Col.ROW) if c not in places]
    if node.windowing is not None:
        rows = in_windows(node.windowing, context, rows)
        keys = [*keys, Col.WINDOW_START, Col.WINDOW_CLOSE]
    state: dict[str, str] = {}
    results = []
    for i, (a, change) in enumerate(zip(node.aggregates, grouped.changes, strict=True)):
        signature = a.call.signature
        assert isinstance(signature, AggregateSignature)
        made = signature.state(change, a.call.arguments)
        parts = {n: f"__s{i}_{n}" for n in made}
        state |= {parts[n]: e for n, e in made.items()}
        results.append((f"__a{i}", signature.result(parts, a.call.arguments)))
    state[Col.ROWTIME] = f"max({Col.ROWTIME})"
    state[Col.SEQ] = "count(1)"
    # In one, since Spark makes all cells of a group anew for each row.
    last = [*places, Col.RAW, Col.REASON]
    state["__last"] = f"last({struct_of(last)})"
    lanes = context.watched * (context.distribution.partitions if lane == Col.LANE else 1)
    watched = [f"{Col.SEEN_LANE}{i}" for i in range(lanes)]
    state |= {c: f"max(CASE WHEN {lane} = {i} THEN {reached} END)" for i, c in enumerate(watched)}
    group = f"xxhash64({', '.join(keys)})"
    replay = list(AS_READ)
    if context.tail is not None and (watched or not context.plan.hides_groups):
        own = context.tail.position(Col.PARTITION, Col.OFFSET, which_result(rows.shape, node.windowing))
        rows = context.replayed(rows, context.tail.place_in_group(group, lane, reached) if watched else own, own)
        replay = ["__place", "__has_result", *order, *replay]
    rows = context.distribute(rows, keys, replay).grouped({k: k for k in keys}, state)
    end = [] if node.windowing is None else [(Col.WINDOW_END, f"{Col.WINDOW_START} + {node.windowing.size}")]
    seen = [(Col.SEEN_GROUP, group), *((c, f"coalesce({c}, -1L)") for c in watched)] if watched else []
    return rows.select(
        *keys, *results, *end, Col.ROWTIME, Col.SEQ, *((c, f"__last.{c}") for c in last), *seen, (Col.DELETED, "false")
    )


@dataclass(frozen=True)
class _Grouped:
    """Rows ahead of their groups.

    ``keys``: the group's columns, null for rows that could not be read. ``changes``: what a row does to the state of
    each aggregate.
    """

    rows: Rows
    keys: tuple[str, ...]
    changes: tuple[Change, ...]


def _grouped(node: Aggregate, rows: Rows, places: Sequence[str]) -> _Grouped:
    """The rows with their group and the arguments of the aggregates; ``places``: what else rows keep.

    A row of a null group, or without a value, belongs to no group.
    """
    keys = tuple(f"__k{i}" for i in range(len(node.group)))
    arguments: dict[str, str] = {}
    changes = []
    for i, call in enumerate(node.aggregates):
        signature = call.call.signature
        assert isinstance(signature, AggregateSignature)
        first_constant = len(call.arguments) - signature.constants
        constants = [spark_text(x) for x in call.arguments[first_constant:]]
        values = {f"{i}_{j}": x for j, x in enumerate(call.arguments[:first_constant])}
        arguments |= {f"__x{n}": spark_text(x) for n, x in values.items()}
        new = [*(f"__x{n}" for n in values), *constants]
        if node.of_table:
            arguments |= {f"__y{n}": spark_text(x, column=_replaced) for n, x in values.items()}
            old = [*(f"__y{n}" for n in values), *constants]
            changes.append(Change(new, "__comes", old, "__goes", call.limit))
        else:
            changes.append(Change(new, _READ, limit=call.limit))
    if node.of_table:
        return _Grouped(_moved(node, rows, places, keys, arguments), keys, tuple(changes))
    groups = ((n, f"CASE WHEN {_READ} THEN {spark_text(k)} END") for k, n in zip(node.group, keys, strict=True))
    rows = rows.select(*groups, *arguments.items(), Col.ROWTIME, *places, Col.DELETED, Col.RAW, Col.REASON)
    known = " AND ".join(f"{k} IS NOT NULL" for k in keys)
    return _Grouped(rows.where(f"NOT ({_READ}) OR (NOT {Col.DELETED} AND {known})"), keys, tuple(changes))


def _moved(node: Aggregate, rows: Rows, places: Sequence[str], keys: Sequence[str], arguments: dict[str, str]) -> Rows:
    """One row for each group that changes, the old one first; one in all where a row stays in its group."""
    sides = []
    for alive, group in (
        (f"NOT {Col.DELETED}", [spark_text(k) for k in node.group]),
        (f"{Col.OLD} IS NOT NULL", [spark_text(k, column=_replaced) for k in node.group]),
    ):
        condition = " AND ".join([_READ, alive, *(f"{k} IS NOT NULL" for k in group)])
        fields = ", ".join(f"{k} AS {n}" for k, n in zip(group, keys, strict=True))
        sides.append(f"CASE WHEN {condition} THEN struct({fields}) END")
    ahead = ("__to", sides[0]), ("__from", sides[1])
    rows = rows.select(*ahead, *arguments.items(), Col.ROWTIME, *places, Col.DELETED, Col.RAW, Col.REASON)

    def step(group: str, comes: str, goes: str) -> str:
        return f"struct({group} AS __group, {comes} AS __comes, {goes} AS __goes)"

    same = " AND ".join(f"__to.{k} <=> __from.{k}" for k in keys)
    leaves = f"CASE WHEN __from IS NOT NULL THEN {step('__from', 'false', 'true')} END"
    enters = f"CASE WHEN __to IS NOT NULL THEN {step('__to', 'true', 'false')} END"
    steps = (
        f"CASE WHEN NOT ({_READ}) THEN array({step('__to', 'false', 'false')})"
        f" WHEN __to IS NOT NULL AND __from IS NOT NULL AND {same} THEN array({step('__to', 'true', 'true')})"
        f" ELSE filter(array({leaves}, {enters}), __step -> __step IS NOT NULL) END"
    )
    rows = rows.several((Col.ROW, "__step"), f"posexplode({steps})")
    side = {"x": "__step.__comes", "y": "__step.__goes"}
    return rows.select(
        *((k, f"__step.__group.{k}") for k in keys),
        *((n, f"CASE WHEN {side[n[2]]} THEN {n} END") for n in arguments),
        *((c, f"__step.{c}") for c in ("__comes", "__goes")),
        Col.ROWTIME, *places, Col.ROW, Col.DELETED, Col.RAW, Col.REASON,
    )  # fmt: skip


def _replaced(column: str) -> str:
    return f"{Col.OLD}.{text.name(column)}"
