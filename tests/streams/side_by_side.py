"""The cases of the statement files as tests that run side by side: they wait for Spark far more than they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ksqlpy.testing import Case, CaseFailed, FileProblem, Runner, check, read_cases

__all__ = [
    "CASES",
    "FOLDER",
    "ON_KAFKA",
    "SHAPES",
    "Wait",
    "chosen_for_kafka",
    "chosen_for_memory",
    "parameter",
    "side_by_side",
]

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples"
FILES = [*sorted(FOLDER.glob("*.test")), *sorted(EXAMPLES.glob("*/*.test"))]
CASES = [case for file in FILES for case in read_cases(file)]

SHAPES = {
    "a filter, and queries in a chain": "filter: a chain of three queries",
    "a table function": "table_functions: a row for each item",
    "PARTITION BY": "keys: another key",
    "an aggregate, and several partitions": "aggregates: three partitions: in order for each key",
    "an aggregate of a table": "aggregate_tables: one driver moves, one stays, one leaves",
    "a tumbling window": "aggregates: windows of four seconds, one second of grace",
    "a hopping window, late records": "late_records: hopping windows: one late record for all windows that it misses",
    "a session window": "sessions: a late row joins two sessions",
    "a windowed table as a source": "windowed_sources: tables of equal windows are joined",
    "EMIT FINAL of windows": "final_results: a record closes the windows of all keys",
    "EMIT FINAL of sessions": "final_results: a session is final once its gap and grace are over",
    "LAG": "over: LAG is the value of the row before, of the same card",
    "a stream-stream join": "stream_joins: a left join with grace gives nulls when no partner can come any more",
    "a stream-table join": "joins: a left join keeps the rides of unknown drivers",
    "a table-table join": "table_joins: a full join has a key of its own",
    "a foreign-key join, then an aggregate": "foreign_keys: a join by a foreign key, then GROUP BY",
    "foreign-key joins in a chain": "foreign_keys: a third table, and a change of the second whose offset is lower than"
    " that of the first",
    "UNION ALL": "composition: two topics in one stream",
    "INSERT INTO … SELECT": "writers: two queries write one stream, a third reads it",
    "a filter of a table": "tables: a row that no longer passes is taken out, once",
    "dead letters": "bad_input: a table keeps what it had where a record cannot be read",
    "change events": "debezium: what is no change of a row is a dead letter",
    "headers that are read": "headers: headers in a group and in a join",
    "headers that are written": "writing_headers: headers that a record had, and one more",
    "functions in Python": "python_functions: inside CASE, a lambda, an aggregate and HAVING",
    "an aggregate in Python": "python_aggregates: in windows, with HAVING",
    "dead letters of functions in Python": "python_dead_letters: in GROUP BY and in an aggregate: nothing of the row"
    " comes into the group",
    "AVRO": "avro: avro keys in a table, a join and windows",
    "PROTOBUF": "protobuf: keys of messages in a join and in windows",
}
"""The case that ``make test`` runs on Kafka, by the kind of query or record that it stands for."""

EVERY = 3
"""Of the cases of a file that ``make test`` does not run on Kafka it runs the first of so many in memory."""

ON_KAFKA = [case for case in CASES if case.error is None]

Wait = Callable[[Case], None]


def chosen_for_kafka() -> list[Case]:
    """What ``make test`` runs on Kafka: a case of each kind of query and of record."""
    chosen = set(SHAPES.values())
    return [case for case in ON_KAFKA if f"{case.file.stem}: {case.name}" in chosen]


def chosen_for_memory() -> list[Case]:
    """What ``make test`` runs in memory: of each file a part of what it does not run on Kafka, and what is refused."""
    on_kafka = set(map(id, chosen_for_kafka()))
    chosen: list[Case] = []
    for file in FILES:
        own = [case for case in CASES if case.file == file]
        others = [case for case in own if id(case) not in on_kafka]
        chosen += [case for case in others if case.error is not None]
        chosen += [case for case in others if case.error is None][::EVERY]
    return chosen


def parameter(case: Case, marks: Iterable[pytest.MarkDecorator] = ()) -> object:
    """A case as a parameter of a test; one with a known fault has to fail."""
    id = f"{'' if case.file.parent == FOLDER else 'examples/'}{case.file.stem}: {case.name}"
    fault = [pytest.mark.xfail(reason=case.known_fault)] if case.known_fault else []
    return pytest.param(case, id=id, marks=[*fault, *marks])


def side_by_side(request: pytest.FixtureRequest, test: str, runner: Runner, threads: int) -> Iterator[Wait]:
    """Begins with all cases for which this test is selected; gives what waits for one and raises what it raised."""
    wanted = [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == test and item.path.parent == FOLDER
    ]
    pool = ThreadPoolExecutor(threads, thread_name_prefix=test)
    running: dict[int, Future[None]] = {id(c): pool.submit(check, c, runner) for c in wanted}

    def wait(case: Case) -> None:
        try:
            running[id(case)].result()
        except (CaseFailed, FileProblem) as e:
            pytest.fail(str(e), pytrace=False)

    yield wait
    pool.shutdown(cancel_futures=True)
