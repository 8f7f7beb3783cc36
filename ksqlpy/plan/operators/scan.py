"""Reading a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation
from ksqlpy.plan.operators.contract import Depends, Lanes, Passive, Replay, Results, Stateless

__all__ = ["Scan"]


@dataclass(frozen=True)
class Scan(Stateless):
    """Records of a source's topic, read by its formats."""

    relation: Relation

    title = "a source"
    below = ()
    expressions = ()
    results = Results.ONE
    replay = Replay(Depends.ROW, Lanes.KEPT)
    passive = Passive.NEVER
    upgradable = True

    @property
    def relations(self) -> tuple[Relation, ...]:
        return (self.relation,)

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """The key columns of a table, with the bounds of its window."""
        source = self.relation.source
        if source.kind != "TABLE":
            return None
        bounds = ("WINDOWSTART", "WINDOWEND") if source.window is not None else ()
        return (*map(self.relation.ref, source.keys), *map(t.system, bounds))

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """Where the keys are its key columns, in another type perhaps."""
        own = set(map(self.relation.ref, self.relation.source.keys))
        return {k.value if isinstance(k, t.Cast) else k for k in keys} == own

    def upgrade(self, new: Self) -> str | None:
        """The source, its formats and its time must stay."""
        before, after = self.relation.source, new.relation.source
        if (before.name, before.topic) != (after.name, after.topic):
            return f"it would read {after.name}, not {before.name}"
        formats = [(s.key.format, s.value.format, s.key.delimiter, s.value.delimiter) for s in (before, after)]
        if formats[0] != formats[1]:
            return f"the formats of {before.name} are others"
        if (before.timestamp, before.timestamp_format) != (after.timestamp, after.timestamp_format):
            return f"the TIMESTAMP of {before.name} is another"
        if before.envelope != after.envelope:
            return f"the VALUE_ENVELOPE of {before.name} is another"
        return None

    def explain(self) -> tuple[str, str]:
        s = self.relation.source
        alias = "" if self.relation.alias == s.name else f" AS {self.relation.alias}"
        formats = f"key {s.key.format}, value {s.value.format}{f' of {s.envelope}' if s.envelope else ''}"
        return f"Scan {s.kind.lower()}", f"{s.name}{alias} [topic {s.topic}, {formats}]"
