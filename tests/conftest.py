"""What all tests share: one Spark session a process, and the options of pytest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ksqlpy.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_MASTER, SPARK_MEMORY = "local[128]", "1g"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete", action="store_true", help="write the answers into the empty sections of statement files"
    )


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, with the jars and settings of the product. An engine that a test starts gets the same one."""
    # Tests run most code a few times only: without the second compiler they need a third less of the processor.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1", prepend=" ")
        session = start_session(SPARK_MASTER, SPARK_MEMORY, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
