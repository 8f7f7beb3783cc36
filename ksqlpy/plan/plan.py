"""The logical plan of a query, and what holds of it as a whole: folded from the answers of its operators.

Rows flow from the scans up to the :class:`.Project` at the root; one in the midst stands for an inner query. Every row
has, beside its columns, the system columns of ``ksqlpy.analysis.typed.SYSTEM``; a row that cannot be read travels along
as it is and leaves as a dead letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation, Window
from ksqlpy.catalog import SourceKind
from ksqlpy.functions import AggregateSignature
from ksqlpy.plan.operators import Aggregate, Depends, Lanes, Operator, Project, Results, SessionAggregate
from ksqlpy.types import holds_double

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """A query's tree and what follows from it. ``partitioned``: PARTITION BY makes the key of the result.

    ``strict_time``: a record without a valid event time ends the query with an error, and is no dead letter.
    ``by_bits``: DOUBLEs that bring rows together, or that an aggregate compares, are told apart by their bits, as in
    ksqlDB: -0.0 is not 0.0. Queries of before, whose state Spark has by its own rule, go on without it.
    """

    root: Project
    kind: SourceKind
    partitioned: bool = False
    strict_time: bool = False
    by_bits: bool = False

    @cached_property
    def nodes(self) -> tuple[Operator, ...]:
        """All operators, inputs first."""
        return tuple(self.root.nodes())

    def rebuilt(self, change: Callable[[Operator], Operator]) -> Plan:
        """A plan in which ``change`` replaced every operator below the root, inputs first."""
        return replace(self, root=replace(self.root, input=self.root.input.rebuilt(change)))

    # ---------------------------------------------------------------- inputs

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """All inputs; the one whose rows come out is the first."""
        return self.root.relations

    @property
    def streams(self) -> tuple[Relation, ...]:
        """The inputs whose rows come out; one, if there is no union."""
        tables = [r for n in self.nodes for table in n.lookups for r in table.relations]
        return tuple(r for r in self.relations if r not in tables)

    @cached_property
    def copies(self) -> Mapping[Relation, int]:
        """Of tables whose topic is read for several joins: which copy of its records each of them takes, from 0."""
        tables = [r for n in self.nodes for table in n.lookups for r in table.relations]
        seen = Counter[str]()
        found: dict[Relation, int] = {}
        for relation in tables:
            topic = relation.source.topic
            if sum(r.source.topic == topic for r in tables) > 1:
                found[relation] = seen[topic]
                seen[topic] += 1
        return found

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of all inputs, in their order."""
        return tuple(dict.fromkeys(r.source.topic for r in self.relations))

    @property
    def expressions(self) -> Iterator[t.Expr]:
        """All expressions; of aggregates and table functions the arguments."""
        return (x for n in self.nodes for x in n.expressions)

    @cached_property
    def used(self) -> frozenset[str]:
        """Internal names of the columns that the plan needs."""
        named = {e.name for x in self.expressions for e in t.walk(x) if isinstance(e, t.ColumnRef)}
        return frozenset(named.union(*(n.needed for n in self.nodes)))

    @property
    def keeps_key(self) -> bool:
        """Whether the key of a stream's result is the whole key of its records, so that it may be missing."""
        keys = [o.expr for o in self.root.outputs if o.key]
        return self.kind == "STREAM" and not self.partitioned and self.root.input.keeps_key(keys)

    @property
    def shows_headers(self) -> bool:
        """Whether columns hold headers of its records."""
        return any(r.source.headers for r in self.relations)

    # ---------------------------------------------------------------- state

    @property
    def stateful(self) -> bool:
        """Whether anything is remembered between rows."""
        return any(n.stateful for n in self.nodes)

    @property
    def compares_doubles(self) -> bool:
        """Whether DOUBLEs bring rows together, or are compared by an aggregate."""
        keys = (k for n in self.nodes for k in n.keys)
        calls = (a for n in self.nodes if isinstance(n, Aggregate | SessionAggregate) for a in n.aggregates)
        compared = (x for a in calls if _compares(a) for x in a.arguments)
        return any(holds_double(x.type) for x in (*keys, *compared))

    @property
    def stages(self) -> int:
        """How many shuffles it needs."""
        return sum(n.stages for n in self.nodes)

    @property
    def window(self) -> Window | None:
        """The window of its groups, if rows are aggregated in windows."""
        return next((n.window for n in self.nodes if n.window is not None), None)

    @property
    def late_topic(self) -> str | None:
        """The topic for records that come too late for a window, if they are kept."""
        return None if self.window is None else self.window.late_topic

    @property
    def ordered_backlog(self) -> bool:
        """Whether the backlog must be read in event-time order: several inputs that meet in a state, or windows.

        So also where a state has a stream time of its own, as of a stream that is joined with itself.
        """
        return (self.stateful and len(self.topics) > 1) or self.window is not None or self.partition_history

    @property
    def by_time(self) -> bool:
        """Whether the records of all partitions are read in the order of their times, as a task of Kafka Streams does.

        So where the backlog is, where a union without a state writes the records of several topics, and where PARTITION
        BY brings records of several partitions together.
        """
        return len(self.topics) > 1 or self.ordered_backlog or self.partitioned

    # ---------------------------------------------------------------- after a restart

    @property
    def retraced(self) -> bool:
        """Whether a row that comes again after a restart must see what it saw before.

        So where a state is made of it, and where it has several results, of which some may be there. Else whoever has
        a result is done with, and all others may see more.
        """
        return any(n.replay.depends is Depends.HISTORY for n in self.nodes)

    @property
    def partition_history(self) -> bool:
        """Whether some state is that of a whole shuffle partition, so that results say what it had seen."""
        return any(n.replay.partition_history for n in self.nodes)

    @property
    def done_as_read(self) -> bool:
        """Whether a record whose result is there is done with: it changes no state, and has no other result."""
        return not self.retraced and not _multiplies(self.root)

    @property
    def joined_by_key(self) -> bool:
        """Whether rows of one key of the result, and of one source partition, are joined one after the other.

        So a row without a result had no partner, or did not pass a filter, if a later one of its key has a result.
        """
        joins = [n for n in self.nodes if n.replay.depends is Depends.TABLES]
        if not joins or not self.done_as_read:
            return False
        # What a step joins is equal, or null where a table has no row, and then nothing joins it further.
        equal = [o.expr for o in self.root.outputs if o.key]
        for _ in joins:
            equal += [e for n in joins if any(e in equal for e in n.equal) for e in n.equal if e not in equal]
        return all(k in equal for n in joins for k in n.keys)

    @property
    def seen_tables(self) -> int:
        """Of how many joined tables each result says what its row saw."""
        return sum(n.replay.depends is Depends.TABLES for n in self.nodes) if self.retraced else 0

    @property
    def changing_topics(self) -> tuple[str, ...]:
        """The topics whose records change a state that other rows meet: with joined tables alone, only theirs."""
        if self.retraced:
            return self.topics
        tables = (r for n in self.nodes for table in n.lookups for r in table.relations)
        return tuple(dict.fromkeys(r.source.topic for r in tables))

    @property
    def told_by_results(self) -> tuple[str, ...]:
        """The topics of which results tell how far they were read, so that a restart need not repeat more of them.

        No row behind those changed a state that a result had seen. None where rows without a result change a state
        that others meet, and what results had seen is told by key or group; nor topics of tables in joins.
        """
        tables = {r.source.topic for n in self.nodes for table in n.lookups for r in table.relations}
        if self.hides_groups or any(map(_mixes_history, self.nodes)):
            return ()
        return tuple(t for t in self.topics if t not in tables)

    @property
    def hides_groups(self) -> bool:
        """Whether a row that changes a group may have no result, as with HAVING."""
        return bool(self._hidden)

    @property
    def lanes_kept(self) -> bool:
        """Whether the rows of groups that are hidden come on lanes, so that results tell their order."""
        return not any(below.replay.lanes is Lanes.MIXED for n in self._hidden for below in n.nodes())

    @property
    def regroups_joined(self) -> bool:
        """Whether the rows of joined tables are grouped by something else than their key."""
        return any(n.replay.regroups and _mixes_history(n) for n in self.nodes)

    @property
    def guarantee(self) -> str:
        """What a restart may repeat (docs/internals/exactly-once.md)."""
        if any(n.replay.depends is Depends.TABLES and _multiplies(n) for n in self.nodes):
            return (
                "yes, where all records lie in one partition; else a restart may join results of one record otherwise"
            )
        # Results say what the last of several steps had seen.
        if sum(n.stages for n in self.nodes if n.replay.partition_history) > 1:
            return "yes, where all records lie in one partition; else a restart may order rows otherwise"
        if any(n.replay.scattered for n in self.nodes):
            return "yes, where all records of a group lie in one partition; else a restart may order rows otherwise"
        if self.lanes_kept:
            return "yes"
        if any(map(_mixes_history, self._hidden)):
            return (
                "not after a restart, which may order rows of groups that HAVING hid otherwise:"
                " a result may repeat, or be missing until its group changes again"
            )
        return "yes, where all records lie in one partition; else a restart may order rows without a result otherwise"

    @property
    def _hidden(self) -> list[Operator]:
        """The operators that may leave rows of groups without a result."""
        return [n for n in self.nodes if n.replay.silent and any(i.replay.regroups for i in n.inputs)]


def _compares(call: t.AggregateCall) -> bool:
    """Whether the aggregate compares values with each other."""
    return isinstance(call.call.signature, AggregateSignature) and call.call.signature.compares


def _multiplies(node: Operator) -> bool:
    """Whether several rows of one record may come out."""
    return any(n.results is Results.MANY for n in node.nodes())


def _mixes_history(node: Operator) -> bool:
    """Whether rows of several inputs meet below that each change what the others see."""
    return any(n.replay.lanes is Lanes.MIXED and n.replay.depends is Depends.HISTORY for n in node.nodes())
