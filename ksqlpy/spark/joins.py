"""What comes of tables that are joined by one key: the result of a key after each record, as Spark text.

Of every table the state of a key has ``__t0``, ``__t1``, …, its row as it is now, ``__n0``, …, whether it has a
value, and ``__h0``, …, whether its last two rows had one; ``__cur`` is the record that came.
A chain of joins is worked through from left to right: step j joins what came of the tables before with table j.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.analysis.result import JoinKind
from ksqlpy.formats import text
from ksqlpy.spark.marks import needed_while

__all__ = ["sides", "with_result"]


def sides(names: Sequence[Sequence[str]], more: Sequence[str]) -> dict[str, str]:
    """The state: name and Spark text of each aggregate. ``names``: the columns that are needed of each table; ``more``:
    columns of the record that came.

    Rows have ``__side``, the number of their table, or null if they could not be read.
    """
    state = {}
    for i, columns in enumerate(names):
        row = f"struct({', '.join(['__ts', *map(text.name, columns)])})"
        state[f"__t{i}"] = f"last(CASE WHEN __side = {i} THEN {row} END, true)"
        state[f"__n{i}"] = f"last({needed_while('NOT __del', f'__side = {i}')}, true)"
        state[f"__h{i}"] = f"ksqlpy_last_two(CASE WHEN __side = {i} THEN NOT __del END)"
    came = ["__side", "__origin", "__offset", "__ts", "__raw", "__reason", *more]
    state["__cur"] = f"last(struct({', '.join(came)}))"
    return state


def with_result(kinds: Sequence[JoinKind], names: Sequence[Sequence[str]]) -> list[str]:
    """Spark text of the columns, of ``__ts``, ``__del`` and ``__changed``.

    A record changes the result if each step that it passes has a result, or had one before it (Kafka Streams: every
    change of either side is passed on, a tombstone only after a result). ROWTIME is the latest of the record's and of
    the rows that the result is made of.
    """
    count = len(names)
    now = [f"coalesce(__n{i} = 1Y, false)" for i in range(count)]
    before = [
        f"CASE WHEN __cur.__side = {i} THEN coalesce(__h{i}.before, false) ELSE {alive} END"
        for i, alive in enumerate(now)
    ]
    exists, existed = _steps(kinds, now), _steps(kinds, before)
    passed = [f"(__cur.__side > {j} OR {exists[j]} OR {existed[j]})" for j in range(1, count)]
    shown = [
        " AND ".join([now[i], *(f"{exists[j]}" for j in range(max(i, 1), count))]) for i in range(count)
    ]  # what a step joins is part of the result where that step and all behind it have one
    # A tombstone, too, is as late as what its steps had on their other side.
    met = [
        " AND ".join([now[i], *(f"({exists[j]} OR __cur.__side <= {j})" for j in range(max(i, 1), count))])
        for i in range(count)
    ]
    times = [f"CASE WHEN {m} THEN __t{i}.__ts END" for i, m in enumerate(met)]
    columns = [
        f"CASE WHEN {shown[i]} THEN __t{i}.{text.name(c)} END AS {text.name(c)}"
        for i, table in enumerate(names)
        for c in table
    ]
    return [
        *columns,
        f"greatest(__cur.__ts, {', '.join(times)}) AS __ts",
        f"NOT {exists[-1]} AS __del",
        f"({' AND '.join(passed)}) AS __changed",
    ]


def _steps(kinds: Sequence[JoinKind], alive: Sequence[str]) -> list[str]:
    """Whether each step has a result, by whether the tables have a row; step 0 is the first table."""
    steps = [alive[0]]
    for kind, right in zip(kinds, alive[1:], strict=True):
        match kind:
            case "INNER":
                steps.append(f"({steps[-1]} AND {right})")
            case "LEFT":
                steps.append(steps[-1])
            case "RIGHT":
                steps.append(f"({right})")
            case "FULL":
                steps.append(f"({steps[-1]} OR {right})")
    return steps
