"""The cases of the statement files as tests that run side by side: they wait for Spark far more than they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ksqlpy.testing import Case, CaseFailed, FileProblem, Runner, check, read_cases

__all__ = ["CASES", "FOLDER", "Wait", "parameter", "side_by_side"]

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples"
FILES = [*sorted(FOLDER.glob("*.test")), *sorted(EXAMPLES.glob("*/*.test"))]
CASES = [case for file in FILES for case in read_cases(file)]

Wait = Callable[[Case], None]


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
