"""The Spark session of a run: the product's, on few threads and with code that is compiled quickly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.spark.session import end_session, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session"]


@contextmanager
def session(folder: Path, jobs: int) -> Iterator[SparkSession]:
    """A session for so many cases at a time; ``folder``: for Spark's files."""
    # Most code runs a few times only: without the second compiler it costs a third less of the processor.
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:TieredStopAtLevel=1 {os.environ.get('JAVA_TOOL_OPTIONS', '')}".strip()
    found = start_session(f"local[{4 * jobs}]", "1g", folder)
    try:
        yield found
    finally:
        end_session(found)
