"""What all tests share: one Spark session a process, and the options of pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from ksqlpy.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["tests.support.environment", "tests.support.scratch", "tests.support.brokers", "tests.support.tiers"]

# No test fails because the machine is busy.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

SPARK_MASTER, SPARK_MEMORY = "local[128]", "1g"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete", action="store_true", help="write the answers into the empty sections of statement files"
    )
    parser.addoption(
        "--generated", type=int, default=0, metavar="N", help="so many generated values or expressions, not the default"
    )


@pytest.fixture(scope="session")
def generated(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """How many examples a test of generated values runs: those of ``--generated``, or its own default."""
    count: int = request.config.getoption("--generated")
    return lambda default: count or default


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, with the jars and settings of the product. An engine that a test starts gets the same one."""
    # Tests run most code a few times only: without the second compiler they need a third less of the processor.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1", prepend=" ")
        session = start_session(SPARK_MASTER, SPARK_MEMORY, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
