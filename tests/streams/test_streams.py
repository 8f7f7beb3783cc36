"""Every case of the statement files beside this file and of the examples, without Kafka and, marked ``kafka``, with it.

The cases of a run go side by side: they wait for Spark to start queries far more than they compute.
``pytest tests/streams --complete -m "not kafka"`` writes the answers into sections that are still empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from ksqlpy.testing import Case, CaseFailed, FileProblem, KafkaRunner, MemoryRunner, Runner, check, complete, read_cases
from ksqlpy.testing.registry import shared_registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples"
FILES = [*sorted(FOLDER.glob("*.test")), *sorted(EXAMPLES.glob("*/*.test"))]
CASES = [case for file in FILES for case in read_cases(file)]
IN_MEMORY, ON_KAFKA = 4, 6
"""Cases that run at the same time."""

pytestmark = pytest.mark.spark

Wait = Callable[[Case], None]


def parameters(cases: list[Case]) -> list[object]:
    return [
        pytest.param(
            case,
            id=f"{'' if case.file.parent == FOLDER else 'examples/'}{case.file.stem}: {case.name}",
            marks=[pytest.mark.xfail(reason=case.known_fault)] if case.known_fault else [],
        )
        for case in cases
    ]


def side_by_side(request: pytest.FixtureRequest, test: str, runner: Runner, threads: int) -> Iterator[Wait]:
    """Begins with all cases for which this test is selected; gives what waits for one and raises what it raised."""
    wanted = [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == test and item.path == Path(__file__)
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


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


@pytest.fixture(scope="session")
def in_memory(request: pytest.FixtureRequest, spark: SparkSession, folder: Path) -> Iterator[Wait]:
    runner = MemoryRunner(spark, folder)
    if request.config.getoption("--complete"):
        for file in {c.file for c in CASES if c.open}:
            complete(file, runner)
        pytest.exit("the answers are written: read them, then run the tests again", returncode=0)
    yield from side_by_side(request, "test_in_memory", runner, IN_MEMORY)


@pytest.fixture(scope="session")
def on_kafka(request: pytest.FixtureRequest, spark: SparkSession, folder: Path) -> Iterator[Wait]:
    registry, name = shared_registry()
    engine = Engine(
        Config.of(
            {
                "ksqlpy.data.dir": str(folder / "engine"),
                "ksqlpy.spark.master": spark.sparkContext.master,
                "ksql.service.id": "streams_",
                "ksql.schema.registry.url": registry.url(name),
            }
        )
    )
    engine.start()
    assert engine.session is spark
    yield from side_by_side(request, "test_on_kafka", KafkaRunner(engine), ON_KAFKA)
    engine.stop()


@pytest.mark.parametrize("case", parameters(CASES))
def test_in_memory(case: Case, in_memory: Wait) -> None:
    in_memory(case)


@pytest.mark.kafka
@pytest.mark.parametrize("case", parameters([c for c in CASES if c.error is None]))
def test_on_kafka(case: Case, on_kafka: Wait) -> None:
    on_kafka(case)
