"""All cases of a folder, run side by side in one Spark session."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .cases import Case, read_folder
from .judge import altered, judge, skipped
from .report import Result
from .run import run_case
from .session import session
from .sqlfiles import SqlCase, read_sql_folder
from .sqlrun import run_sql_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["AnyCase", "find_cases", "run_all", "run_one"]

AnyCase = Case | SqlCase


def find_cases(folder: Path) -> list[AnyCase]:
    """The cases of ``qtt`` and ``sql`` below a folder, or of the folder itself; raises ValueError for a bad file."""
    json_files = folder / "qtt" if (folder / "qtt").is_dir() else folder
    sql_files = folder / "sql" if (folder / "sql").is_dir() else folder
    return [*read_folder(json_files), *read_sql_folder(sql_files)]


def run_one(case: AnyCase, spark: SparkSession, folder: Path, *, lax: bool = False) -> Result:
    """The result of one case; ``folder``: for its files. Also tells whether altered expectations would pass too."""
    began = time.monotonic()
    if isinstance(case, SqlCase):
        verdict = run_sql_case(case, spark, folder)
        return Result(case.file, case.name, "SQL tests", case.formats, verdict, time.monotonic() - began)
    mutant_passed = False
    given = skipped(case)
    if given is None:
        ran = run_case(case, spark, folder)
        verdict = judge(case, ran, lax=lax)
        mutant = altered(case)
        if verdict.result == "passed" and mutant is not None:
            mutant_passed = judge(mutant, ran, lax=lax).result == "passed"
    else:
        verdict = given
    title = f"{case.name} - {case.format}" if case.format else case.name
    seconds = time.monotonic() - began
    return Result(case.file, title, case.category, case.formats, verdict, seconds, mutant_passed)


def run_all(cases: Sequence[AnyCase], *, jobs: int, lax: bool) -> list[Result]:
    """The results, in the order of the cases."""
    logging.getLogger("SQLQueryContextLogger").disabled = True  # what Spark refuses is in the report
    with tempfile.TemporaryDirectory(prefix="qtt-", dir=_memory(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with session(folder / "spark", jobs) as spark, ThreadPoolExecutor(jobs) as pool:
            found = pool.map(lambda case: run_one(case, spark, folder, lax=lax), cases)
            return list(_told(found, len(cases)))


def _told(results: Iterable[Result], count: int) -> Iterable[Result]:
    for number, result in enumerate(results, 1):
        yield result
        if number % 100 == 0:
            print(f"{number} of {count}", file=sys.stderr, flush=True)


def _memory() -> str | None:
    """A folder in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
