"""Rows ahead of GROUP BY: their group, the arguments of the aggregates, and what these keep of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ksqlpy.formats import text
from ksqlpy.functions import AggregateSignature, Change
from ksqlpy.plan.letters import makes_letters
from ksqlpy.plan.operators import Aggregate, SessionAggregate
from ksqlpy.spark.columns import Cell, Col
from ksqlpy.spark.counted_failures import counting
from ksqlpy.spark.deadrows import set_aside, tried_values
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators.context import Context
from ksqlpy.spark.operators.doubles import key_of, signs_zero
from ksqlpy.spark.provenance import ROWS
from ksqlpy.spark.rows import Rows

__all__ = ["READ", "Grouped", "cells", "grouped"]

READ = f"{Col.RAW} IS NULL"
"""Whether a row could be read."""


@dataclass(frozen=True)
class Grouped:
    """Rows ahead of their groups.

    ``keys``: the group's columns, null for rows that could not be read. ``changes``: what a row does to the state of
    each aggregate.
    """

    rows: Rows
    keys: tuple[str, ...]
    changes: tuple[Change, ...]


def grouped(
    node: Aggregate | SessionAggregate, context: Context, rows: Rows, places: Sequence[str], *, of_table: bool
) -> Grouped:
    """The rows with their group and the arguments of the aggregates; ``places``: what else rows keep.

    A row of a null group, or without a value, belongs to no group. What failed is counted; of a table's rows what was
    replaced is not, and neither are their groups.
    """
    name, plan = context.name, context.plan
    keys = tuple(f"{Cell.KEY}{i}" for i in range(len(node.group)))
    arguments: dict[str, str] = {}
    changes = []
    for i, call in enumerate(node.aggregates):
        signature = call.call.signature
        assert isinstance(signature, AggregateSignature)
        first_constant = len(call.arguments) - signature.constants
        constants = [spark_text(x) for x in call.arguments[first_constant:]]
        values = {f"{i}_{j}": x for j, x in enumerate(call.arguments[:first_constant])}
        arguments |= {f"{Cell.ARGUMENT}{n}": counting(x, name) for n, x in values.items()}
        new = [*(f"{Cell.ARGUMENT}{n}" for n in values), *constants]
        if of_table:
            arguments |= {f"{Cell.REPLACED}{n}": spark_text(x, column=_replaced) for n, x in values.items()}
            old = [*(f"{Cell.REPLACED}{n}" for n in values), *constants]
            changes.append(Change(new, Cell.COMES, old, Cell.GOES, call.limit, plan.by_bits))
        else:
            sessions = isinstance(node, SessionAggregate)
            changes.append(Change(new, READ, limit=call.limit, by_bits=plan.by_bits, sessions=sessions))
    signed = signs_zero(node.relations[0], node.group)

    def keyed(texts: Iterable[str]) -> list[str]:
        return [key_of(plan, s, k.type, signed=signed) for k, s in zip(node.group, texts, strict=True)]

    if of_table:
        moves = [keyed(spark_text(k, column=c) for k in node.group) for c in (text.name, _replaced)]
        return Grouped(_moved(moves, rows, places, keys, arguments), keys, tuple(changes))
    groups_said = [counting(k, name) for k in node.group]
    if context.letters and makes_letters(node.expressions):
        made = [*arguments.values(), *groups_said]
        rows, columns = tried_values(rows, made, f"{READ} AND NOT {Col.DELETED}")
        rows = set_aside(rows)
        arguments = dict(zip(arguments, columns, strict=False))
        groups_said = columns[len(arguments) :]
    found = keyed(groups_said)
    groups = ((n, f"CASE WHEN {READ} THEN {k} END") for k, n in zip(found, keys, strict=True))
    rows = rows.select(*groups, *arguments.items(), Col.ROWTIME, *places, Col.DELETED, Col.RAW, Col.REASON)
    known = " AND ".join(f"{k} IS NOT NULL" for k in keys)
    return Grouped(rows.where(f"NOT ({READ}) OR (NOT {Col.DELETED} AND {known})"), keys, tuple(changes))


def cells(
    node: Aggregate | SessionAggregate, changes: Sequence[Change]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The state of the aggregates, name and Spark text of each cell, and their results over it."""
    state: dict[str, str] = {}
    results = []
    for i, (a, change) in enumerate(zip(node.aggregates, changes, strict=True)):
        signature = a.call.signature
        assert isinstance(signature, AggregateSignature)
        made = signature.state(change, a.call.arguments)
        parts = {n: f"__s{i}_{n}" for n in made}
        state |= {parts[n]: e for n, e in made.items()}
        results.append((f"__a{i}", signature.result(parts, a.call.arguments)))
    return state, results


def _moved(
    moves: Sequence[Sequence[str]],
    rows: Rows,
    places: Sequence[str],
    keys: Sequence[str],
    arguments: dict[str, str],
) -> Rows:
    """One row for each group that changes, the old one first; one in all where a row stays in its group.

    ``moves``: Spark texts of the group into which a row comes, and of that which it leaves.
    """
    sides = []
    for alive, group in zip((f"NOT {Col.DELETED}", f"{Col.OLD} IS NOT NULL"), moves, strict=True):
        condition = " AND ".join([READ, alive, *(f"{k} IS NOT NULL" for k in group)])
        fields = ", ".join(f"{k} AS {n}" for k, n in zip(group, keys, strict=True))
        sides.append(f"CASE WHEN {condition} THEN struct({fields}) END")
    ahead = ("__to", sides[0]), ("__from", sides[1])
    rows = rows.select(*ahead, *arguments.items(), Col.ROWTIME, *places, Col.DELETED, Col.RAW, Col.REASON)

    def step(group: str, comes: str, goes: str) -> str:
        return f"struct({group} AS __group, {comes} AS {Cell.COMES}, {goes} AS {Cell.GOES})"

    same = " AND ".join(f"__to.{k} <=> __from.{k}" for k in keys)
    leaves = f"CASE WHEN __from IS NOT NULL THEN {step('__from', 'false', 'true')} END"
    enters = f"CASE WHEN __to IS NOT NULL THEN {step('__to', 'true', 'false')} END"
    steps = (
        f"CASE WHEN NOT ({READ}) THEN array({step('__to', 'false', 'false')})"
        f" WHEN __to IS NOT NULL AND __from IS NOT NULL AND {same} THEN array({step('__to', 'true', 'true')})"
        f" ELSE filter(array({leaves}, {enters}), __step -> __step IS NOT NULL) END"
    )
    rows = rows.several(("__nth_step", "__step"), f"posexplode({steps})")
    number = f"{Col.ROW} * {ROWS} + __nth_step" if rows.shape.numbered else "__nth_step"
    side = {Cell.ARGUMENT: Cell.COMES, Cell.REPLACED: Cell.GOES}
    return rows.select(
        *((k, f"__step.__group.{k}") for k in keys),
        *((n, f"CASE WHEN __step.{side[n[:3]]} THEN {n} END") for n in arguments),
        *((c, f"__step.{c}") for c in (Cell.COMES, Cell.GOES)),
        Col.ROWTIME, *(p for p in places if p != Col.ROW), (Col.ROW, number), Col.DELETED, Col.RAW, Col.REASON,
    )  # fmt: skip


def _replaced(column: str) -> str:
    return f"{Col.OLD}.{text.name(column)}"
