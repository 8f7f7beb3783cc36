"""Every case of the statement files beside this file and of the examples, without Kafka; see ``side_by_side.py``.

``pytest tests/streams --complete -m "not kafka"`` writes the answers into sections that are still empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ksqlpy.testing import Case, MemoryRunner, complete
from tests.streams.side_by_side import CASES, Wait, chosen_for_memory, parameter, side_by_side

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 4


@pytest.fixture(scope="module")
def in_memory(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Wait]:
    runner = MemoryRunner(spark, tmp_path_factory.mktemp("streams"))
    if request.config.getoption("--complete"):
        for file in {c.file for c in CASES if c.open}:
            complete(file, runner)
        pytest.exit("the answers are written: read them, then run the tests again", returncode=0)
    yield from side_by_side(request, "test_in_memory", runner, AT_ONCE)


CHOSEN = {id(case) for case in chosen_for_memory()}
LEFT_OUT = pytest.mark.extended("two of three cases of a file, and those that make test runs on Kafka")


@pytest.mark.parametrize("case", [parameter(c, [] if id(c) in CHOSEN else [LEFT_OUT]) for c in CASES])
def test_in_memory(case: Case, in_memory: Wait) -> None:
    in_memory(case)
