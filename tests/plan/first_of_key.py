"""One more operator, as someone would add it: keeps the first row of each key of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators import Depends, Lanes, Operator, Passive, Replay, Results
from ksqlpy.plan.text import listed
from ksqlpy.spark.columns import Col
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.operators import Context
from ksqlpy.spark.operators.context import struct_of
from ksqlpy.spark.rows import Rows


@dataclass(frozen=True)
class FirstOfKey(Operator):
    """Of all rows with equal ``key`` the first."""

    input: Operator
    key: tuple[t.Expr, ...]

    title = "the first of a key"
    below = ("input",)
    lookups = ()
    needed = frozenset[str]()
    stages = 1
    stateful = True
    window = None
    identity = None
    results = Results.ONE
    replay = Replay(Depends.HISTORY, Lanes.KEPT)
    equal = ()
    needs_batches = None
    passive = Passive.NEVER
    upgradable = False

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        return self.key

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        return self.key

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        return self.input.keeps_key(keys)

    def explain(self) -> tuple[str, str]:
        return "First of key", listed(self.key)


def build(node: FirstOfKey, context: Context, records: Rows) -> Rows:
    """Rows of a key are counted; those that could not be read pass by."""
    rows = context.build(node.input, records)
    keys = [spark_text(k) for k in node.key]
    columns = rows.shape.columns
    read = f"{Col.RAW} IS NULL"
    rows = context.distribute(rows, keys).grouped(
        {f"__g{i}": f"CASE WHEN {read} THEN {k} END" for i, k in enumerate(keys)},
        {"__count": f"count(CASE WHEN {read} THEN 1 END)", "__r": f"last({struct_of(columns)})"},
    )
    return rows.where(f"__r.{Col.RAW} IS NOT NULL OR __count = 1").unpacked("__r", columns)
