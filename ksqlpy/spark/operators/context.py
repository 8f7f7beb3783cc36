"""What builders of operators share: the plan, how stateful steps are spread, and what is there already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ksqlpy.analysis.result import Relation
from ksqlpy.formats import text
from ksqlpy.plan import Plan
from ksqlpy.plan.letters import carries_records, last_records
from ksqlpy.plan.operators import Operator
from ksqlpy.spark.columns import Col
from ksqlpy.spark.once import Tail
from ksqlpy.spark.provenance import sent_to, stream_time
from ksqlpy.spark.rows import Rows, RowShape

__all__ = ["AS_READ", "LAST", "Builder", "Context", "Distribution", "struct_of"]

AS_READ = (f"coalesce({Col.PARTITION}, {Col.RAW}.partition)", f"coalesce({Col.OFFSET}, {Col.RAW}.offset)")
"""The order in which a source's records are read, per partition."""

LAST = f"{2**63 - 1}L"
"""The place of rows that have none: behind all others."""


@dataclass(frozen=True)
class Distribution:
    """How stateful steps are spread.

    ``partitions``: of every shuffle. ``shuffled``: False where all rows come from one source partition, so that a
    shuffle would only cost latency. ``sorted``: for the micro-batch that reads a backlog in event-time order.
    ``in_step``: the rows come from one task, by their time, and stay in this order behind shuffles.
    ``source_partitions``: of the first source when the query was made; part of the state of queries with HAVING.
    """

    partitions: int
    shuffled: bool
    sorted: bool = False
    in_step: bool = False
    source_partitions: int = 1
    topic_partitions: tuple[int, ...] = ()
    """Of each topic of the plan, in order: of how many partitions the tasks of JVM steps say what they had seen. None
    where results may repeat."""


Builder = Callable[[Operator, "Context", Rows], Rows]
"""Builds an operator: the rows that come out, from the records of all topics as far as others have read them."""


class Context:
    """One plan while it is built.

    ``tail``: what the query has written since the checkpoint from which it recovers. Each stateful step then takes the
    rows in the order in which it took them before, so far as results tell (docs/internals/exactly-once.md). ``name``:
    of the query, under which late and failed rows are counted. ``headers``: whether records come with their headers.
    ``letters``: whether failed calls of functions that say so make dead letters.
    """

    def __init__(
        self,
        plan: Plan,
        builders: Callable[[type[Operator]], Builder],
        distribution: Distribution,
        tail: Tail | None,
        *,
        name: str,
        headers: bool,
        letters: bool = False,
    ) -> None:
        self.plan = plan
        self.name = name
        self.headers = headers
        self.letters = letters
        self.carries_records = letters and carries_records(plan)
        """Whether rows carry their record as it came, up to the last step that may make a dead letter of it."""
        self._last_records = last_records(plan) if self.carries_records and plan.late_topic is None else ()
        self.distribution = distribution
        # With one source partition the order is the same each time.
        self.tail = tail if distribution.shuffled and not distribution.sorted else None
        # Of groups that HAVING hides, how many lanes of the source are watched.
        self.watched = distribution.source_partitions if plan.hides_groups and plan.lanes_kept else 0
        self.several = len(plan.relations) > 1
        self.used = plan.used
        shown = ("headers",) if plan.shows_headers else ()
        self.record = ("key", "value", "topic", "partition", "offset", "ts", *shown)
        """The fields of a record as it came."""
        self.task_step: int | None = None
        """The number of the step that is built and works on the rows of the operator below it in the same tasks."""
        self.clustered_by_subset = False
        """Whether an aggregate keeps the partitioning of its rows, which clusters them by a subset of its keys."""
        self.branch: int | None = None
        """The number of the branch of a union that is being built."""
        self.copies: Mapping[Relation, int] = {}
        """Which copy of the records of its topic a table reads, where others read it, too: see ``Plan.copies``."""
        self._builders = builders
        self._distributed = False
        self._shuffles = 0

    def build(self, node: Operator, records: Rows) -> Rows:
        """The rows that come out of an operator."""
        rows = self._builders(type(node))(node, self, records)
        return rows.drop(Col.CAME) if any(n is node for n in self._last_records) else rows

    def late_records(self, shape: RowShape) -> tuple[str, ...]:
        """The column of the records as they came, where groups must have them for records that are late."""
        return shape.only(Col.CAME) if self.plan.late_topic is not None else ()

    def changed(self, rows: Rows) -> Rows:
        """Without the rows that leave the result of joined tables as it is; a filter of it must count them."""
        return (
            rows.where(f"{Col.RAW} IS NOT NULL OR {Col.CHANGED}").drop(Col.CHANGED)
            if rows.shape.of_joined_tables
            else rows
        )

    def distribute(self, rows: Rows, keys: Sequence[str], replay: Sequence[str] = AS_READ) -> Rows:
        """Brings rows of one key together, ahead of a stateful step.

        ``keys``: columns, else Spark would shuffle once more. With one source partition nothing is shuffled. A backlog
        is sorted once, ahead of the first step, by the stream time of its partitions, so that the records of one stay
        in their order; a table's row comes before a stream's row of the same time. A recovering query sorts ahead of
        each step, by ``replay``.
        """
        d = self.distribution
        if self.tail is not None:
            return self._sorted(rows, keys, replay)
        if not d.shuffled and not d.sorted:
            return rows.together()  # each time, since Spark would shuffle behind an aggregate
        if d.in_step:
            return self.shuffled(rows, keys)
        if self._distributed:
            return rows
        self._distributed = True
        if d.sorted:
            table_first = [f"{Col.SIDE} DESC"] if rows.shape.sided else []
            rows = rows.plus((Col.TURN, stream_time(Col.SOURCE, f"coalesce({Col.ROWTIME}, {Col.RAW}.ts)")))
            return self._sorted(rows, keys, [Col.TURN, *table_first, *AS_READ]).drop(Col.SOURCE, Col.TURN)
        return rows

    def shuffled(self, rows: Rows, keys: Sequence[str]) -> Rows:
        """Rows of one key in one task, as they come; in the order of time if the query is read by time."""
        d = self.distribution
        n = d.partitions
        if not d.in_step:
            return rows.repartitioned(n, keys)
        stage = self._shuffles
        self._shuffles += 1
        time = f"coalesce({Col.ROWTIME}, {Col.RAW}.ts, 0L)"
        rows = rows.plus((Col.SENT, sent_to(keys, n, stage, time)), (Col.SENDER, "spark_partition_id()"))
        return rows.repartitioned(n, keys).in_step(stage, n, Col.SENT, Col.SENDER)

    def _sorted(self, rows: Rows, keys: Sequence[str], order: Sequence[str]) -> Rows:
        number = [Col.ROW] if rows.shape.numbered else []
        return rows.spread(self.distribution.partitions, keys, [*order, *number])

    def replayed(self, rows: Rows, position: str, own: str) -> Rows:
        """Adds ``__place``, the ``position`` of what a row's result had seen, and whether it has one by ``own``."""
        return rows.plus(
            (Col.PLACE, f"coalesce(CASE WHEN {Col.RAW} IS NULL THEN {position} END, {LAST})"),
            (Col.HAS_RESULT, f"({Col.RAW} IS NULL AND {own} IS NOT NULL)"),
        )

    def step_spec(self, node: Operator, step: str, **more: object) -> dict[str, object]:
        """What a step of the JVM is told, see ``jvm/internals/Steps.java``."""
        return {
            "step": step,
            "number": self.step_number(node),
            "lanes": list(self.distribution.topic_partitions),
            **more,
        }

    def step_number(self, node: Operator) -> int:
        """The number of an operator among the steps of the plan."""
        return next(i for i, n in enumerate(self.plan.nodes) if n is node)

    def to_tasks(self, rows: Rows, number: int, keys: Sequence[str], turn: str | None = None) -> Rows:
        """Brings rows of one key together for step ``number`` of the JVM, whose tasks have a state across their keys.

        A backlog comes by the stream time of its partitions (``turn``, or what is known of the source). After a restart
        rows come in the order in which the task took them before, so far as results tell: behind the last result that
        had not seen them; then the others.
        """
        d = self.distribution
        self._distributed = True
        if not d.shuffled:
            return rows.together()
        if not d.sorted and self.tail is None:
            return self.shuffled(rows, keys)
        own = [Col.TURN] if turn is None else []  # a time that is given is still needed
        if turn is None and Col.SOURCE in rows.shape.columns:
            turn = Col.TURN
            rows = rows.plus((turn, stream_time(Col.SOURCE, f"coalesce({Col.ROWTIME}, {Col.RAW}.ts)")))
        order = [*([turn] if turn is not None else []), *AS_READ]
        if self.tail is not None:
            task = f"({number << 32}L + pmod(hash({', '.join(keys)}), {d.partitions}))"
            counts = d.topic_partitions
            bases = " ".join(f"WHEN {i} THEN {sum(counts[:i])}" for i in range(len(counts)))
            lane = f"(CASE shiftright({Col.PARTITION}, 16) {bases} END + ({Col.PARTITION} & 65535))"
            position = self.tail.place_in_group(task, lane, Col.OFFSET)
            rows = self.replayed(rows, position, self.tail.any(Col.PARTITION, Col.OFFSET, task))
            order = [Col.PLACE, Col.HAS_RESULT, *order]
        return self._sorted(rows, keys, order).drop(Col.SOURCE, *own)

    def lane_of_table(self, keys: Sequence[str]) -> str:
        """Spark text of the lane of a table's row: Spark sends a key to the task that this hash names."""
        n = self.distribution.partitions
        return f"CASE WHEN {Col.RAW} IS NULL THEN {Col.PARTITION} * {n} + pmod(hash({', '.join(keys)}), {n}) END"

    def used_of(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns, by internal names, that the plan needs."""
        return [c for c in columns if c in self.used]


def struct_of(columns: Sequence[str]) -> str:
    """Spark text of a struct of columns."""
    return f"struct({', '.join(map(text.name, columns))})"
