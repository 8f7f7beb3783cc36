"""The cases of the statement files as tests that run side by side: they wait for Spark far more than they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ksqlpy.testing import Case, CaseFailed, FileProblem, Runner, check, read_cases

__all__ = [
    "CASES",
    "DEPENDING",
    "FOLDER",
    "ON_KAFKA",
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

DEPENDING = {
    "aggregate_tables",
    "bad_input",
    "debezium",
    "final",
    "final_results",
    "foreign_keys",
    "header_formats",
    "headers",
    "joins",
    "late_records",
    "many_topics",
    "sessions",
    "stream_joins",
    "table_joins",
    "tables",
    "windowed_sources",
    "writers",
    "writing_headers",
}
"""Files whose results depend on Kafka: tables, joins, windows, headers, late records, what cannot be read."""

EVERY = 3
"""``make test`` takes the first of so many cases where it does not take all."""

ON_KAFKA = [case for case in CASES if case.error is None]

Wait = Callable[[Case], None]


def chosen_for_kafka() -> list[Case]:
    """What ``make test`` runs on Kafka: all cases of the files that depend on it, and of each other file a part."""
    of_file: dict[Path, list[Case]] = {}
    for case in ON_KAFKA:
        of_file.setdefault(case.file, []).append(case)
    return [c for file, cases in of_file.items() for c in cases[:: 1 if file.stem in DEPENDING else EVERY]]


def chosen_for_memory() -> list[Case]:
    """What ``make test`` runs in memory: what it does not run on Kafka, and a part of the rest."""
    both = chosen_for_kafka()
    on_kafka_only = set(map(id, both)) - set(map(id, both[::EVERY]))
    return [case for case in CASES if id(case) not in on_kafka_only]


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
