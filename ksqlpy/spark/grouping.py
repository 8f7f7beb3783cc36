"""What becomes of rows ahead of their groups: table functions, and the rows of tables that replace others.

The columns of rows are those of ``spark/compile.py``. A row that could not be read passes every step unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ksqlpy.formats import text
from ksqlpy.functions import AggregateSignature, Change, Signature
from ksqlpy.functions.sparktext import tried
from ksqlpy.plan.nodes import Aggregate, FlatMap, TableChanges
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.marks import ROWS, last_needed

__all__ = ["Grouped", "flat_map", "grouped", "with_replaced"]

_READ = "__raw IS NULL"


def flat_map(node: FlatMap, rows: DataFrame) -> DataFrame:
    """A row for each item of the arrays, side by side, the shorter filled up with nulls; ``__row`` numbers them."""
    arrays = []
    for call in node.calls:
        signature = call.call.signature
        assert isinstance(signature, Signature)
        array = signature.spark([spark_text(a) for a in call.arguments], call.call.arguments)
        arrays.append(f"coalesce({tried(array)}, array())")
    # A record without a value has no rows.
    zipped = f"CASE WHEN __raw IS NOT NULL THEN array(null) WHEN NOT __del THEN arrays_zip({', '.join(arrays)}) END"
    kept = [text.column(c) for c in rows.columns if c != "__row"]
    number = f"__row * {ROWS} + __item AS __row" if "__row" in rows.columns else "__item AS __row"
    rows = rows.selectExpr("*", f"posexplode({zipped}) AS (__item, __items)")
    return rows.selectExpr(*kept, number, *(f"__items.`{i}` AS __u{i}" for i in range(len(arrays))))


def with_replaced(node: TableChanges, rows: DataFrame) -> DataFrame:
    """Adds ``__old``, the row of the same key that a row replaces, null if there is none, or a tombstone.

    The rows of a key must come together, in their order.
    """
    last = [c for c in rows.columns if c in ("__raw", "__reason", "__headers")]
    columns = [c for c in rows.columns if c not in last]
    row = f"CASE WHEN {_READ} THEN struct({', '.join(map(text.column, columns))}) END"
    names = [text.column(c) for c in columns if c != "__del"]
    keys = [F.expr(f"CASE WHEN {_READ} THEN {spark_text(k)} END").alias(f"__g{i}") for i, k in enumerate(node.keys)]
    rows = rows.groupBy(*keys).agg(
        F.expr(f"ksqlpy_last_two({row})").alias("__rows"),
        F.expr(last_needed("NOT __del", node.keys)).alias("__needed"),
        F.expr(f"last(struct({', '.join(last)}))").alias("__last"),
    )
    rows = rows.selectExpr("*", "__last.*")
    rows = rows.selectExpr(
        f"CASE WHEN {_READ} THEN __rows.now END AS __new",
        f"CASE WHEN {_READ} THEN __rows.before END AS __old",
        "__needed = 0Y AS __del",
        *last,
    )
    new = [f"__new.{n}" for n in names]
    return rows.selectExpr(*new, "__del", "CASE WHEN NOT __old.__del THEN __old END AS __old", *last)


@dataclass(frozen=True)
class Grouped:
    """Rows ahead of their groups.

    ``keys``: the group's columns, null for rows that could not be read. ``changes``: what a row does to the state of
    each aggregate.
    """

    rows: DataFrame
    keys: tuple[str, ...]
    changes: tuple[Change, ...]


def grouped(node: Aggregate, rows: DataFrame, places: Sequence[str]) -> Grouped:
    """The rows with their group and the arguments of the aggregates; ``places``: what else rows keep.

    A row of a null group, or without a value, belongs to no group.
    """
    keys = tuple(f"__k{i}" for i in range(len(node.keys)))
    table = isinstance(node.input, TableChanges)
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
        if table:
            arguments |= {f"__y{n}": spark_text(x, column=_replaced) for n, x in values.items()}
            old = [*(f"__y{n}" for n in values), *constants]
            changes.append(Change(new, "__comes", old, "__goes", call.limit))
        else:
            changes.append(Change(new, _READ, limit=call.limit))
    if table:
        return Grouped(_moved(node, rows, places, keys, arguments), keys, tuple(changes))
    rows = rows.selectExpr(
        *(f"CASE WHEN {_READ} THEN {spark_text(k)} END AS {n}" for k, n in zip(node.keys, keys, strict=True)),
        *(f"{x} AS {n}" for n, x in arguments.items()),
        "__ts", *places, "__del", "__raw", "__reason",
    )  # fmt: skip
    known = " AND ".join(f"{k} IS NOT NULL" for k in keys)
    return Grouped(rows.where(f"NOT ({_READ}) OR (NOT __del AND {known})"), keys, tuple(changes))


def _moved(
    node: Aggregate, rows: DataFrame, places: Sequence[str], keys: Sequence[str], arguments: dict[str, str]
) -> DataFrame:
    """One row for each group that changes, the old one first; one in all where a row stays in its group."""
    sides = []
    for alive, group in (
        ("NOT __del", [spark_text(k) for k in node.keys]),
        ("__old IS NOT NULL", [spark_text(k, column=_replaced) for k in node.keys]),
    ):
        condition = " AND ".join([_READ, alive, *(f"{k} IS NOT NULL" for k in group)])
        fields = ", ".join(f"{k} AS {n}" for k, n in zip(group, keys, strict=True))
        sides.append(f"CASE WHEN {condition} THEN struct({fields}) END")
    rows = rows.selectExpr(
        f"{sides[0]} AS __to", f"{sides[1]} AS __from", *(f"{x} AS {n}" for n, x in arguments.items()),
        "__ts", *places, "__del", "__raw", "__reason",
    )  # fmt: skip

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
    rows = rows.selectExpr("*", f"posexplode({steps}) AS (__row, __step)")
    side = {"x": "__step.__comes", "y": "__step.__goes"}
    return rows.selectExpr(
        *(f"__step.__group.{k}" for k in keys),
        *(f"CASE WHEN {side[n[2]]} THEN {n} END AS {n}" for n in arguments),
        "__step.__comes", "__step.__goes", "__ts", *places, "__row", "__del", "__raw", "__reason",
    )  # fmt: skip


def _replaced(column: str) -> str:
    return f"__old.{text.name(column)}"
