"""``python -m tests.qtt DIR``: runs all cases below a folder and prints what became of them."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .cases import Case, read_folder
from .judge import altered, judge, skipped
from .parsing import check_parsing
from .report import Result, counts, reasons, save, table
from .run import run_case
from .session import session


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if no case failed."""
    options = _options().parse_args(arguments)
    folder: Path = options.folder
    wanted = re.compile(options.filter)
    cases_in = folder / "qtt" if (folder / "qtt").is_dir() else folder
    cases = [c for c in read_folder(cases_in) if wanted.search(c.full_name)]
    if not cases:
        print(f"no case below {folder} is called {options.filter}", file=sys.stderr)
        return 2
    if options.parse_only:
        return _parse_only(cases)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # a refusal by Spark is in the report
    began = time.monotonic()
    results = run_all(cases, jobs=options.jobs, lax=options.lax)
    print(table(results))
    print("\nwhy cases failed:")
    print(reasons(results, "failed", options.groups))
    print("\nwhy cases were skipped:")
    print(reasons(results, "skipped", options.groups))
    if options.verbose:
        for r in results:
            if r.verdict.result == "failed":
                print(f"\n{r.file} - {r.name}\n    {r.verdict.reason}")
    if options.mutate:
        still = [r for r in results if r.mutant_passed]
        print(f"\nmutation check: {len(still)} passed with altered expectations")
        for r in still:
            print(f"    {r.file} - {r.name}")
    if options.report is not None:
        save(results, options.report)
    print(f"\n{time.monotonic() - began:.0f} s")
    print(counts(results))
    return 0 if all(r.verdict.result != "failed" for r in results) else 1


def _parse_only(cases: Sequence[Case]) -> int:
    looked, failures = check_parsing(cases)
    for f in failures:
        print(f"{f.case}\n    {' '.join(f.statement.split())}\n    {f.reason}")
    print(f"{looked - len(failures)} passed, {len(failures)} failed, 0 skipped")
    return 1 if failures else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.qtt", description="Runs query cases of a folder.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="holds qtt/*.json and sql/*.sql, or *.json itself")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only cases whose full name matches")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="where every case's result is written")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="cases that run at the same time")
    parser.add_argument("--groups", type=int, default=40, metavar="N", help="so many groups of reasons are printed")
    parser.add_argument("--parse-only", action="store_true", help="only whether statements parse and round-trip")
    exact = parser.add_mutually_exclusive_group()
    exact.add_argument("--strict", dest="lax", action="store_false", help="numbers by their digits (the default)")
    exact.add_argument("--lax", dest="lax", action="store_true", help="every fraction is a double")
    parser.add_argument("--mutate", action="store_true", help="also check that altered expectations fail")
    parser.add_argument("--verbose", action="store_true", help="print each failure")
    return parser


def run_all(cases: Sequence[Case], *, jobs: int, lax: bool) -> list[Result]:
    """The results, in the order of the cases."""
    with tempfile.TemporaryDirectory(prefix="qtt-", dir=_memory(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with session(folder / "spark", jobs) as spark, ThreadPoolExecutor(jobs) as pool:

            def one(case: Case) -> Result:
                began = time.monotonic()
                verdict = skipped(case)
                mutant_passed = False
                if verdict is None:
                    ran = run_case(case, spark, folder)
                    verdict = judge(case, ran, lax=lax)
                    mutant = altered(case)
                    mutant_passed = verdict.result == "passed" and mutant is not None and judge(mutant, ran, lax=lax).result == "passed"
                seconds = time.monotonic() - began
                title = f"{case.name} - {case.format}" if case.format else case.name
                return Result(case.file, title, case.category, case.formats, verdict, seconds, mutant_passed)

            results = []
            for i, result in enumerate(pool.map(one, cases), 1):
                results.append(result)
                if i % 100 == 0:
                    print(f"{i} of {len(cases)}", file=sys.stderr, flush=True)
            return results


def _memory() -> str | None:
    """A folder in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


if __name__ == "__main__":
    sys.exit(main())
