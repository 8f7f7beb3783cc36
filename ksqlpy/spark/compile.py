"""From a logical plan to rows: the walk over its operators, each built in its own file in ``operators/``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyspark.sql import DataFrame

from ksqlpy.formats import text
from ksqlpy.plan import Plan
from ksqlpy.plan.operators import Scan
from ksqlpy.spark.columns import Col
from ksqlpy.spark.once import HEADER, Tail
from ksqlpy.spark.operators import Context, Distribution, builder_of, scan
from ksqlpy.spark.provenance import source_place
from ksqlpy.spark.rows import Rows, RowShape

__all__ = ["Distribution", "compile_plan", "event_times"]


def compile_plan(
    plan: Plan,
    records: DataFrame,
    distribution: Distribution,
    tail: Tail | None = None,
    *,
    name: str = "",
    letters: bool = False,
) -> Rows:
    """The rows that come out of the plan's last operator, before projection.

    ``records``: Kafka records with the columns of Spark's Kafka source. ``tail``: what the query has written since the
    checkpoint from which it recovers. ``name``: of the query, under which late and failed rows are counted.
    ``letters``: whether a failed call of a function with ON_ERROR = 'dead-letter' makes a dead letter of its row; else
    it is null.
    """
    headers = "headers" in records.columns
    context = Context(plan, builder_of, distribution, tail, name=name, headers=headers, letters=letters)
    rows = _unread(context, records)
    if plan.copies:
        rows = _copied(plan, rows)
        context.copies = plan.copies
    rows = context.changed(context.build(plan.root.input, rows))
    if context.clustered_by_subset:  # of this query alone: each has a session of its own
        records.sparkSession.conf.set("spark.sql.streaming.statefulOperator.useStrictDistribution", "false")
    return rows


def _copied(plan: Plan, rows: Rows) -> Rows:
    """A row for each table that reads the record, numbered from 0; of all other records one."""
    count = Counter(r.source.topic for r in plan.copies)
    cases = " ".join(
        f"WHEN {Col.RAW}.topic = {text.string(topic)} THEN array({', '.join(map(str, range(n)))})"
        for topic, n in count.items()
    )
    return rows.plus((Col.BRANCH, f"explode(CASE {cases} ELSE array(0) END)"))


def event_times(plan: Plan, records: DataFrame) -> DataFrame | None:
    """The event time of each record in ms, null where it says none; None where all have that of their record.

    For a source that orders records by it, before they are read.
    """
    scans = [n for n in plan.nodes if isinstance(n, Scan) and n.relation.source.timestamp is not None]
    if not scans:
        return None
    plan = replace(plan, strict_time=False)
    distribution = Distribution(1, shuffled=False)
    context = Context(plan, builder_of, distribution, None, name="", headers="headers" in records.columns)
    rows = _unread(context, records)
    for each in scans:
        rows = scan.build(each, context, rows.drop(Col.READ), placed=False)
    return rows.select(("time", Col.ROWTIME)).frame


def _unread(context: Context, records: DataFrame) -> Rows:
    """The records as rows that no scan has read yet."""
    plan = context.plan
    taken = [f"unix_millis(timestamp) AS {c}" if c == "ts" else c for c in context.record]
    if plan.late_topic is not None:
        taken.append("cast(null as bigint) AS late")
    refused = "refused" if "refused" in records.columns else "cast(null as string)"
    made = [(Col.RAW, f"struct({', '.join(taken)})"), (Col.REASON, refused)]
    if context.headers:
        # Most records of other queries have no header but that one, which would be kept in vain.
        passed = f"CASE WHEN size(headers) = 1 AND headers[0].key = {text.string(HEADER)} THEN null ELSE headers END"
        made.append((Col.HEADERS, passed if plan.stateful else "headers"))
    if context.distribution.sorted or (context.tail is not None and plan.partition_history):
        # Where rows are sorted by time: the place of the partition of a row, up to the first stateful step.
        made.append((Col.SOURCE, source_place(plan, "topic", "partition")))
    return Rows(records, RowShape(tuple(records.columns))).select(*made)
