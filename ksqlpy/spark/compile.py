"""From a logical plan to a Spark DataFrame: one function a node, composed of native operators only.

A row carries its columns under their internal names, and beside them

- ``__raw``, ``__reason``: the record as it came, for rows that no scan has read yet or that cannot be read (then with
  the reason); null for all others. Such rows pass every operator unchanged and leave as dead letters.
- ``__came``: with a topic for late records, the record as it came, up to the windows. What is late there becomes a row
  like those that cannot be read, with ``__raw.late``, the number of the first result that it would have had.
- ``__ts``, ``__partition``, ``__offset``: ROWTIME in ms, and the place of the record: with several topics of a union
  the topic's number is part of ``__partition``.
- ``__seen0``, ``__seen1``, …: after a join, the offset of the last record of its table that the row saw; after GROUP BY
  with HAVING also ``__seen_group``, the group's hash, and ``__seen_0``, …: the last offset of each lane.
- ``__lane``: with HAVING the way on which rows come to their group in the order of their offsets: the source partition,
  and for a table, whose rows are spread by their key before, also the part of the keys.
- ``__row``: after table functions, after a union whose branches read the same topic, and after GROUP BY of a table, the
  number of the row among those that one record brought about, from 0.
- ``__changed``, ``__seq``: after a join of tables whether the row's result is new, and its number within its key.
- ``__del``: the record has no value: a tombstone of a table.
- ``__keyless``: the record of a stream with several key columns has no key, where its key is that of the result.
- ``__headers``: the headers of the record, which those of its results are, too.

Stateful operators are Spark's own streaming aggregate, which in real-time mode (and with the streamline aggregator in
micro-batches) merges each row and emits it at once: one output row an input row, in order, per key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Window
from ksqlpy.catalog import Column, Source
from ksqlpy.formats import Part, key_part, read, text, value_part
from ksqlpy.functions import AggregateSignature
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
    nodes_of,
)
from ksqlpy.spark.check import expressions_of
from ksqlpy.spark.composing import merge, project, source_of, spread
from ksqlpy.spark.eventtime import before_1970, no_time, time_of
from ksqlpy.spark.expressions import spark_text
from ksqlpy.spark.grouping import flat_map, grouped, with_replaced
from ksqlpy.spark.joins import sides, with_result
from ksqlpy.spark.marks import (
    counted,
    lane_of,
    last_needed,
    needed_while,
    reached_on_lane,
    seen_columns,
    source_place,
    stream_time,
    touched,
    which_result,
)
from ksqlpy.spark.once import HEADER, Tail, place
from ksqlpy.spark.output import holds
from ksqlpy.types import BIGINT

__all__ = ["Compiler", "Distribution"]

_AS_READ = ("coalesce(__partition, __raw.partition)", "coalesce(__offset, __raw.offset)")
"""The order in which a source's records are read, per partition."""


@dataclass(frozen=True)
class Distribution:
    """How stateful steps are spread.

    ``partitions``: of every shuffle. ``shuffled``: False where all rows come from one source partition, so that a
    shuffle would only cost latency. ``sorted``: for the micro-batch that reads a backlog in event-time order.
    ``source_partitions``: of the first source when the query was made; part of the state of queries with HAVING.
    """

    partitions: int
    shuffled: bool
    sorted: bool = False
    source_partitions: int = 1


class Compiler:
    """Compiles one plan over a DataFrame of Kafka records (Spark's Kafka source columns).

    ``tail``: what the query has written since the checkpoint from which it recovers. Each stateful step then takes the
    rows in the order in which it took them before, so far as results tell (docs/internals/exactly-once.md). ``name``:
    of the query, under which late and failed rows are counted.
    """

    def __init__(
        self,
        plan: Plan,
        records: DataFrame,
        distribution: Distribution,
        tail: Tail | None = None,
        *,
        name: str = "",
    ) -> None:
        self.plan = plan
        self.name = name
        self.distribution = distribution
        # With one source partition the order is the same each time.
        self.tail = tail if distribution.shuffled and not distribution.sorted else None
        # HAVING: rows without a result of their own. The group's results tell what they had seen.
        self._filtered = any(isinstance(n, TableFilter) and isinstance(n.input, Aggregate) for n in nodes_of(plan.root))
        several = any(isinstance(n, TableJoin | TablesJoin | Union) for n in nodes_of(plan.root))
        self._watched = distribution.source_partitions if self._filtered and not several else 0
        self._branch: int | None = None
        self.several = len(plan.scans) > 1
        self.headers = "headers" in records.columns
        self.used = _used_columns(plan)
        self._distributed = False
        marked = ", headers" if any(s.relation.source.headers for s in plan.scans) else ""
        self._record = f"key, value, topic, partition, offset, ts{marked}".split(", ")
        late = ", cast(null as bigint) AS late" if plan.late_topic is not None else ""
        place = f"struct(key, value, topic, partition, offset, unix_millis(timestamp) AS ts{marked}{late}) AS __raw"
        # Most records of other queries have no header but that one, which would be kept in vain.
        passed = f"CASE WHEN size(headers) = 1 AND headers[0].key = {text.string(HEADER)} THEN null ELSE headers END"
        headers = [f"{passed if plan.stateful else 'headers'} AS __headers"] if self.headers else []
        # While a backlog is sorted: the place of the partition that a row comes from, up to the first stateful step.
        source = [f"{source_place(plan, 'topic', 'partition')} AS __source"] if distribution.sorted else []
        self.records = records.selectExpr(place, "cast(null as string) AS __reason", *headers, *source)

    def rows(self) -> DataFrame:
        """The rows that come out of the plan's last node, before projection."""
        return self._changed(self._rows(self.plan.root.input, self.records))

    @staticmethod
    def _changed(rows: DataFrame) -> DataFrame:
        """Without the rows that leave the result of joined tables as it is; a filter of it must count them."""
        return rows.where("__raw IS NOT NULL OR __changed").drop("__changed") if "__changed" in rows.columns else rows

    def _rows(self, node: Node, records: DataFrame) -> DataFrame:
        match node:
            case Scan():
                return self._scan(node, records)
            case Filter():
                return self._filter(node, self._rows(node.input, records))
            case TableJoin():
                return self._join(node, self._rows(node.input, records))
            case TablesJoin():
                return self._join_tables(node, records)
            case FlatMap():
                return flat_map(node, self._rows(node.input, records))
            case TableChanges():
                rows = self._changed(self._rows(node.input, records))
                keys = [spark_text(k) for k in node.keys]
                # Rows of joined tables are numbered in the order of their key already.
                order = ["__seq"] if "__seen_group" in rows.columns else _AS_READ
                rows = with_replaced(node, self._distribute(rows, keys, order))
                return rows.selectExpr("*", f"{self._lane(keys)} AS __lane") if self._watched else rows
            case Aggregate():
                return self._aggregate(node, self._rows(node.input, records))
            case TableFilter():
                return self._table_filter(node, self._rows(node.input, records))
            case Project():
                return project(node, self._rows(node.input, records), self.used)
            case Union():
                return self._union(node, records)

    def _union(self, node: Union, records: DataFrame) -> DataFrame:
        """Each branch in turn reads the records of its topic; for all others they are rows not read yet."""
        rows = spread(node, records)
        sources: list[Source] = []
        for i, branch in enumerate(node.branches):
            self._branch = i
            read_now = self._rows(branch, rows)
            source = source_of(branch)
            if source in sources:  # what another branch could not read is a dead letter already
                read_now = read_now.where(f"NOT (__branch <=> {i} AND __reason IS NOT NULL)")
            sources.append(source)
            rows = merge(rows, read_now)
        self._branch = None
        done = [c for c in rows.columns if c not in ("__branch", "__origin", "__done", "__raw")]
        return rows.selectExpr(*done, "__done.*", "CASE WHEN __done IS NULL THEN __raw END AS __raw")

    # ------------------------------------------------------------ reading

    def _scan(self, scan: Scan, rows: DataFrame) -> DataFrame:
        """Reads the raw rows of the scan's topic; all other rows stay as they are."""
        relation, source = scan.relation, scan.relation.source
        here, partition = "true", "__raw.partition"
        if self._branch is not None:
            here = f"(__reason IS NULL AND __branch <=> {self._branch})"
            partition = place(self.plan.topics.index(source.topic), partition)
        elif self.several:
            here = f"(__reason IS NULL AND __raw.topic <=> {text.string(source.topic)})"
        key, value = key_part(source), value_part(source)
        key_bytes = "__raw.key"
        if source.window is not None:
            key_bytes = f"substring(__raw.key, 1, length(__raw.key) - {source.window.key_bytes})"
        reads = [("__v", value.present, read(value, "__raw.value")), ("__k", key.present, read(key, key_bytes))]
        if source.window is not None:
            reads.append(("__w", True, _WINDOW_START))
            if source.window.size is None:
                reads.append(("__wx", True, _SESSION_END))
        # Reading may come after a column of an earlier scan is there: keep what rows have so far.
        kept = [c for c in rows.columns if c not in ("__raw", "__reason")]
        parts = [(n, call) for n, present, call in reads if present]
        rows = rows.selectExpr(
            *(text.column(c) for c in rows.columns),
            *(f"{call} AS {n}" if here == "true" else f"CASE WHEN {here} THEN {call} END AS {n}" for n, call in parts),
            f"{here} AS __here",
        )
        columns = []
        for part, prefix in ((key, "__k"), (value, "__v")):
            for i, c in enumerate(part.columns):
                at = f"{prefix}.row" if part.bare else text.field(f"{prefix}.row", i)
                columns.append((c.name, at))
        columns += [(c.name, _header_value(c)) for c in source.headers]
        empty = "__raw.value IS NULL" if not value.present else "(__raw.value IS NULL OR __v.row IS NULL)"
        time, time_error = self._time(source, dict(columns), empty)
        errors = [f"{n}.error" for n, _ in parts]
        if source.kind == "TABLE":
            # With several columns some may be null: only without any there is no key.
            missing = "__k.row" if len(source.keys) > 1 else dict(columns)[source.keys[0].name]
            errors.append(f"CASE WHEN {missing} IS NULL THEN 'the key of a table record is null' END")
        if time_error:
            errors.append(time_error)
        # No window holds it, and what no broker takes has no result with its time.
        errors.append(f"CASE WHEN {time} < 0 THEN {before_1970(time)} END")
        error = f"coalesce({', '.join(errors)})" if len(errors) > 1 else errors[0]
        if relation.internal("ROWTIME") in self.used:
            columns.append(("ROWTIME", time))
        fresh = [f"{at} AS {text.name(relation.internal(n))}" for n, at in columns if relation.internal(n) in self.used]
        system = {
            "__ts": time,
            "__partition": partition,
            "__offset": "__raw.offset",
            "__del": empty,
        }
        if source.window is not None:
            end = "__wx.row" if source.window.size is None else f"__w.row + {source.window.size}"
            system |= {"__ws": "__w.row", "__we": end}
        if len(source.keys) > 1 and self.plan.keeps_key:
            system["__keyless"] = "__k.row IS NULL"
        if scan in self.plan.streams and self.plan.late_topic is not None:
            system["__came"] = "__raw"
        rows = rows.selectExpr("*", f"CASE WHEN __here THEN {error} END AS __error")
        read_now = "(__here AND __error IS NULL)"
        out = [*fresh]
        for name, fresh_value in system.items():
            known = f"CASE WHEN {read_now} THEN {fresh_value} ELSE {name} END"
            out.append(f"{known if name in kept else fresh_value} AS {name}")
        out += [text.column(c) for c in kept if c not in system]
        out.append(f"CASE WHEN NOT {read_now} THEN __raw END AS __raw")
        out.append("coalesce(__reason, __error) AS __reason")
        if self.several:
            out.append(f"{read_now} AS __read")
        return rows.selectExpr(*out)

    def _time(self, source: Source, columns: dict[str, str], empty: str) -> tuple[str, str | None]:
        """Spark text of ROWTIME in ms, and of the error where it cannot be told."""
        if source.timestamp is None:
            return "__raw.ts", None
        value = columns[source.timestamp]
        at = time_of(source, value)
        return (
            f"CASE WHEN {empty} THEN __raw.ts ELSE {at} END",
            f"CASE WHEN NOT {empty} THEN {no_time(source, value, at)} END",
        )

    # ------------------------------------------------------------ stateless

    def _filter(self, node: Filter, rows: DataFrame) -> DataFrame:
        return rows.where(f"__raw IS NOT NULL OR (NOT __del AND {holds(node.predicate, self.name)})")

    # ------------------------------------------------------------ stateful

    def _distribute(self, rows: DataFrame, keys: Sequence[str], replay: Sequence[str] = _AS_READ) -> DataFrame:
        """Brings rows of one key together, ahead of a stateful step.

        Spark shuffles by itself. With one source partition it need not; the backlog is sorted once, ahead of the first
        step, by the stream time of its partitions, so that the records of one stay in their order; a table's row comes
        before a stream's row of the same time. A recovering query sorts ahead of each step, by ``replay``.
        """
        d = self.distribution
        if self.tail is not None:
            return self._sorted(rows, keys, replay)
        if self._distributed:
            return rows
        self._distributed = True
        if d.sorted:
            table_first = ["__side DESC"] if "__side" in rows.columns else []
            rows = rows.selectExpr("*", f"{stream_time('__source', 'coalesce(__ts, __raw.ts)')} AS __turn")
            return self._sorted(rows, keys, ["__turn", *table_first, *_AS_READ]).drop("__source", "__turn")
        return rows if d.shuffled else rows.coalesce(1)

    def _sorted(self, rows: DataFrame, keys: Sequence[str], order: Sequence[str]) -> DataFrame:
        spread = rows.repartition(self.distribution.partitions, *(F.expr(k) for k in keys))
        order = [*order, *(c for c in rows.columns if c == "__row")]
        by = [F.expr(o.removesuffix(" DESC")) for o in order]
        return spread.sortWithinPartitions(*by, ascending=[not o.endswith(" DESC") for o in order])

    def _sided(self, tables: Sequence[Scan], rows: DataFrame) -> DataFrame:
        """Reads the tables' records; ``__side`` is the number of a row's table, null for all other rows."""
        for number, table in enumerate(tables):
            rows = self._scan(table, rows.drop("__read"))
            before = "__side" if number else "cast(null as int)"
            others = [text.column(c) for c in rows.columns if c != "__side"]
            rows = rows.selectExpr(*others, f"CASE WHEN __read THEN {number} ELSE {before} END AS __side")
        return rows.drop("__read")

    def _join(self, node: TableJoin, rows: DataFrame) -> DataFrame:
        left = [c for c in rows.columns if c not in ("__raw", "__reason", "__read", "__source")]
        retraced, number = self.plan.retraced, len(seen_columns(rows))
        rows = self._sided(node.tables, rows)
        relations = [s.relation for s in node.tables]
        keys = [r.internal(r.source.keys[0].name) for r in relations]
        of_table = f"coalesce({', '.join(map(text.name, keys))})"
        key = f"CASE WHEN __side IS NULL THEN {spark_text(node.left)} ELSE {of_table} END"
        rows = rows.selectExpr("*", f"CASE WHEN __raw IS NULL THEN {key} END AS __jk")
        # A stream record without a value, and one without a key, never joins.
        rows = rows.where("__raw IS NOT NULL OR (__jk IS NOT NULL AND (__side IS NOT NULL OR NOT __del))")
        replay: list[str] = []
        if self.tail is not None and retraced:
            # A row whose result is there comes behind the table record that it had seen, all others behind the table.
            seen = self.tail.table("__partition", "__offset", number)
            at = f"CASE WHEN __side IS NOT NULL THEN __offset WHEN __raw IS NULL THEN {seen} END"
            rows = rows.selectExpr("*", f"coalesce({at}, {_LAST}) AS __place")
            replay = ["__place", "__side DESC"]
        elif self.tail is not None:  # what has a result is left out in the end, and nothing else has seen anything
            replay = ["__side DESC"]
        values = [
            [n for c in (*r.source.values, *r.source.headers, _ROWTIME) if (n := r.internal(c.name)) in self.used]
            for r in relations
        ]
        state = {}
        for i, names in enumerate(values):
            cells = [*(["__offset"] if retraced else []), *map(text.name, names)]
            if cells:
                state[f"__t{i}"] = f"last(CASE WHEN __side = {i} THEN struct({', '.join(cells)}) END, true)"
            state[f"__known{i}"] = f"last({needed_while('NOT __del', f'__side = {i}')}, true)"
        state["__touched"] = f"last({touched('__side IS NOT NULL')}, true)"
        # In one, since Spark makes all cells of a group anew for each row.
        state["__l"] = f"last(struct({', '.join([*map(text.column, left), '__side', '__raw', '__reason'])}))"
        rows = self._distribute(rows, ["__jk"], [*replay, *_AS_READ])
        rows = rows.groupBy("__jk").agg(*(F.expr(e).alias(n) for n, e in state.items()))
        found = [f"coalesce(__known{i} = 1Y, false)" for i in range(len(values))]
        needed = [f for f, kind in zip(found, node.kinds, strict=True) if kind == "INNER"]
        # Always true, so that Spark does not leave the cell out.
        wanted = " AND ".join(["__l.__side IS NULL", "coalesce(__touched, 1S) = 1S", *needed])
        rows = rows.where(f"__l.__raw IS NOT NULL OR ({wanted})")
        joined = [f"__l.{text.column(c)} AS {text.column(c)}" for c in left]
        for i, (name, names) in enumerate(zip(keys, values, strict=True)):
            if name in self.used:
                joined.append(f"CASE WHEN {found[i]} THEN __jk END AS {text.name(name)}")
            joined += [f"CASE WHEN {found[i]} THEN __t{i}.{text.name(v)} END AS {text.name(v)}" for v in names]
        if retraced:
            joined.append(f"coalesce(__t0.__offset, -1L) AS __seen{number}")
        return rows.selectExpr(*joined, "__l.__raw AS __raw", "__l.__reason AS __reason")

    def _join_tables(self, node: TablesJoin, rows: DataFrame) -> DataFrame:
        """The new result of a key at each record of a table; a tombstone where there is none any more.

        Each row says what its key had seen of every table, so that a restart can bring rows without a result to
        their place among the others (``__lane`` is the number of the table).
        """
        rows = self._sided(node.tables, rows)
        keys = [text.name(s.relation.internal(s.relation.source.keys[0].name)) for s in node.tables]
        group = "xxhash64(__jk)"
        rows = rows.selectExpr(
            "*",
            f"CASE WHEN __raw IS NULL THEN coalesce({', '.join(keys)}) END AS __jk",
            f"CASE WHEN __raw IS NULL THEN {place('__side', '__partition')} END AS __origin",
        )
        replay = list(_AS_READ)
        if self.tail is not None:
            position = self.tail.place_in_group(group, "__side", "__offset")
            own = self.tail.position("__origin", "__offset", "0L")
            rows = rows.selectExpr(
                "*",
                f"coalesce(CASE WHEN __raw IS NULL THEN {position} END, {_LAST}) AS __place",
                f"(__raw IS NULL AND {own} IS NOT NULL) AS __has_result",
            )
            replay = ["__place", "__has_result", *replay]
        names = [
            [n for c in (*(s.relation.source.columns), _ROWTIME) if (n := s.relation.internal(c.name)) in self.used]
            for s in node.tables
        ]
        headers = ["__headers"] if self.headers else []
        state = {"__seq": "count(1)", **sides(names, headers)}
        seen = [f"__seen_{i}" for i in range(len(names))]
        state |= {c: f"max(CASE WHEN __side = {i} THEN __offset END)" for i, c in enumerate(seen)}
        rows = self._distribute(rows, ["__jk"], replay)
        rows = rows.groupBy("__jk").agg(*(F.expr(e).alias(n) for n, e in state.items()))
        rows = rows.selectExpr(
            f"__jk AS {text.name(node.key.name)}",
            *with_result(node.kinds, names),
            "__cur.__origin AS __partition", "__cur.__offset AS __offset", "__cur.__side AS __lane",
            f"{group} AS __seen_group", *(f"coalesce({c}, -1L) AS {c}" for c in seen),
            "__seq", "__cur.__raw AS __raw", "__cur.__reason AS __reason", *(f"__cur.{h} AS {h}" for h in headers),
        )  # fmt: skip
        return rows

    def _aggregate(self, node: Aggregate, rows: DataFrame) -> DataFrame:
        place_columns = ["__partition", "__offset", *seen_columns(rows), *(c for c in rows.columns if c == "__lane")]
        place_columns += [c for c in rows.columns if c in ("__row", "__headers")]
        aside = [c for c in rows.columns if c in ("__came", "__source")]
        lane = lane_of(rows)
        reached = reached_on_lane(rows)
        # Rows of joined tables come from several topics: those of one key have an order only by their number.
        order = ["__nth"] if "__seen_group" in rows.columns else []
        rows = rows.selectExpr("*", "__seq AS __nth") if order else rows
        found = grouped(node, rows, [*place_columns, *aside, *order])
        rows, keys = found.rows, list(found.keys)
        place_columns += [c for c in rows.columns if c == "__row" and c not in place_columns]
        if node.window is not None:
            rows = self._windows(node, rows)
            keys = [*keys, "__ws", "__wend"]
        state: list[tuple[str, str]] = []
        results = []
        for i, (a, change) in enumerate(zip(node.aggregates, found.changes, strict=True)):
            signature = a.call.signature
            assert isinstance(signature, AggregateSignature)
            made = signature.state(change, a.call.arguments)
            parts = {n: f"__s{i}_{n}" for n in made}
            state += [(parts[n], e) for n, e in made.items()]
            results.append(f"{signature.result(parts, a.call.arguments)} AS __a{i}")
        state += [
            ("__ts", "max(__ts)"),
            ("__seq", "count(1)"),
            # In one, since Spark makes all cells of a group anew for each row.
            ("__last", f"last(struct({', '.join([*place_columns, '__raw', '__reason'])}))"),
        ]
        lanes = self._watched * (self.distribution.partitions if lane == "__lane" else 1)
        watched = [f"__seen_{i}" for i in range(lanes)]
        state += [(c, f"max(CASE WHEN {lane} = {i} THEN {reached} END)") for i, c in enumerate(watched)]
        aggregates = [F.expr(e).alias(n) for n, e in state]
        group = f"xxhash64({', '.join(keys)})"
        replay = list(_AS_READ)
        if self.tail is not None and (watched or not self._filtered):
            own = self.tail.position("__partition", "__offset", which_result(rows, node.window))
            position = self.tail.place_in_group(group, lane, reached) if watched else own
            rows = rows.selectExpr(
                "*",
                f"coalesce(CASE WHEN __raw IS NULL THEN {position} END, {_LAST}) AS __place",
                f"(__raw IS NULL AND {own} IS NOT NULL) AS __has_result",
            )
            replay = ["__place", "__has_result", *order, *replay]
        rows = self._distribute(rows, keys, replay).groupBy(*keys).agg(*aggregates)
        window = [f"__ws + {node.window.size} AS __we"] if node.window is not None else []
        seen = [f"{group} AS __seen_group", *(f"coalesce({c}, -1L) AS {c}" for c in watched)] if watched else []
        return rows.selectExpr(*keys, *results, *window, "__ts", "__seq", "__last.*", *seen, "false AS __del")

    def _lane(self, keys: Sequence[str]) -> str:
        """Spark text of the lane of a table's row: Spark sends a key to the task that this hash names."""
        n = self.distribution.partitions
        return f"CASE WHEN __raw IS NULL THEN __partition * {n} + pmod(hash({', '.join(keys)}), {n}) END"

    def _windows(self, node: Aggregate, rows: DataFrame) -> DataFrame:
        """Puts each row into its windows, and drops it from those that are closed.

        Stream time is the largest ROWTIME so far in the source partition, carried as state, so that grace is exact for
        every record (ksqlDB, windows: a row is late when window end + grace ≤ stream time).
        """
        w = node.window
        assert w is not None
        columns = [c for c in rows.columns if c != "__source"]
        rows = self._distribute(rows, ["__partition"]).groupBy("__partition").agg(
            F.expr("max(CASE WHEN __raw IS NULL THEN __ts END)").alias("__st"),
            F.expr(f"last(struct({', '.join(columns)}))").alias("__r"),
        )  # fmt: skip
        first = f"greatest(0L, __r.__ts - {w.size - w.advance}) div {w.advance} * {w.advance}"
        last = f"__r.__ts div {w.advance} * {w.advance}"
        starts = f"sequence({first}, {last}, {w.advance}L)"
        if w.kind == "TUMBLING":
            rows = rows.selectExpr("__r.*", "__st", f"CASE WHEN __r.__raw IS NULL THEN {last} END AS __ws")
        else:
            each = f"explode(CASE WHEN __r.__raw IS NULL THEN {starts} ELSE array(cast(null as bigint)) END) AS __ws"
            rows = rows.selectExpr("__r.*", "__st", each)
        late = f"__ws + {w.size + w.grace} <= __st"
        if self.tail is not None:  # what has a result was not late
            late += f" AND {self.tail.position('__partition', '__offset', which_result(rows, w))} IS NULL"
        late = counted(self.name + ":late", late)
        rows = self._kept_late(w, rows, late) if w.late_topic else rows.where(f"__raw IS NOT NULL OR NOT {late}")
        rows = rows.selectExpr("*", f"timestamp_millis(__ws + {w.size}) AS __wend")
        # The watermark only evicts the state of closed windows, at checkpoints: the largest end is at most SIZE ahead
        # of stream time, so a delay of GRACE + SIZE never closes a window early.
        return rows.withWatermark("__wend", f"{w.size + w.grace} milliseconds")

    def _kept_late(self, w: Window, rows: DataFrame, late: str) -> DataFrame:
        """Late rows as records that pass by, one for all windows of a row: the first is late if any is."""
        number = which_result(rows, w)
        rows = rows.selectExpr("*", f"CASE WHEN __raw IS NULL THEN {late} ELSE false END AS __late")
        first = f"greatest(0L, __ts - {w.size - w.advance}) div {w.advance} * {w.advance}"
        rows = rows.where(f"NOT __late OR __ws = {first}")
        record = ", ".join(f"__came.{c} AS {c}" for c in self._record)
        reason = (
            f"concat('event time ', __ts, ' is late: its window from ', __ws, ' to ', __ws + {w.size},"
            f" ' was closed at ', __ws + {w.size + w.grace}, ', stream time was ', __st)"
        )
        kept = [c for c in rows.columns if c not in ("__raw", "__reason", "__came", "__late", "__st")]
        # In the group of no key, as rows that could not be read, and without values for its state.
        emptied = [c for c in kept if re.match(r"__([kx]\d|ws$)", c)]
        return rows.selectExpr(
            *(f"CASE WHEN NOT __late THEN {c} END AS {c}" if c in emptied else text.column(c) for c in kept),
            f"CASE WHEN __late THEN struct({record}, {number} AS late) ELSE __raw END AS __raw",
            f"CASE WHEN __late THEN {reason} ELSE __reason END AS __reason",
        )

    def _table_filter(self, node: TableFilter, rows: DataFrame) -> DataFrame:
        window = ["__ws"] if "__wend" in rows.columns else []
        names = [spark_text(k) for k in node.keys if not (window and spark_text(k) == "`__ws`")]
        keys = [*names, "__ws", "__wend"] if window else names
        if "__seq" not in rows.columns:
            rows = self._numbered(rows, keys)
        carried = [c for c in rows.columns if c != "__del"]
        passes = f"(NOT __del AND {holds(node.predicate, self.name)})"
        row = f"struct({', '.join(map(text.column, carried))})"
        rows = rows.selectExpr("*", f"(__raw IS NULL AND {passes}) AS __pass")
        group = [F.expr(k).alias(f"__g{i}") if k != "__wend" else F.col(k) for i, k in enumerate(keys)]
        rows = rows.groupBy(*group).agg(
            F.expr("max(CASE WHEN __pass THEN __seq END)").alias("__passed"),
            F.expr(last_needed("__pass", names)).alias("__needed"),
            F.expr(f"last({row})").alias("__r"),
        )
        rows = rows.where("__r.__raw IS NOT NULL OR __needed = 1Y OR __passed = __r.__seq - 1")
        return rows.selectExpr("__r.*", "__needed = 0Y AS __del")

    def _numbered(self, rows: DataFrame, keys: Sequence[str]) -> DataFrame:
        """Adds ``__seq``: the how-many-th row of its key this is."""
        row = f"struct({', '.join(text.column(c) for c in rows.columns if c not in ('__del', '__source'))})"
        group = [F.expr(f"CASE WHEN __raw IS NULL THEN {k} END").alias(f"__g{i}") for i, k in enumerate(keys)]
        spread = self._distribute(rows, list(keys))
        count = "count(CASE WHEN __raw IS NULL THEN 1 END)" if len(keys) > 1 else "count(1)"  # see last_needed
        rows = spread.groupBy(*group).agg(
            F.expr(count).alias("__seq"),
            F.expr(last_needed("NOT __del", keys)).alias("__needed"),
            F.expr(f"last({row})").alias("__r"),
        )
        return rows.selectExpr("__r.*", "__needed = 0Y AS __del", "__seq")


def _header_value(column: Column) -> str:
    """Spark text of a column that holds headers; those that ksqlpy adds are not seen."""
    assert column.header is not None
    if column.header.key is not None:
        found = f"filter(__raw.headers, h -> h.key = {text.string(column.header.key)})"
        return f"try_element_at({found}, -1).value"
    shown = f"filter(__raw.headers, h -> h.key != {text.string(HEADER)})"
    given = f"transform({shown}, h -> named_struct('KEY', h.key, 'VALUE', h.value))"
    return f"coalesce({given}, cast(array() as array<struct<KEY: string, VALUE: binary>>))"


_ROWTIME = Column("ROWTIME", BIGINT)

_LAST = f"{2**63 - 1}L"
"""The place of rows that have none: behind all others."""

_BOUND = Part((Column("WINDOWSTART", BIGINT),), "KAFKA", bare=True)
_WINDOW_START = read(_BOUND, "substring(__raw.key, -8, 8)")
"""The start of the window in a windowed key: its last eight bytes (ksqlDB, windowed keys)."""

_SESSION_END = read(_BOUND, "substring(__raw.key, -16, 8)")
"""The end of a session in a windowed key (Kafka Streams, SessionWindowedSerializer)."""


def _used_columns(plan: Plan) -> frozenset[str]:
    """Internal names of the columns that some expression of the plan needs."""
    names = {e.name for x in expressions_of(plan) for e in t.walk(x) if isinstance(e, t.ColumnRef)}
    joined = {s.relation for n in nodes_of(plan.root) if isinstance(n, TableJoin | TablesJoin) for s in n.tables}
    return frozenset(names | {r.internal(r.source.keys[0].name) for r in joined})
