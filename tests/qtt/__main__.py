"""``python -m tests.qtt DIR``: runs all cases below a folder and prints what became of them."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .functions import provided_functions
from .liverun import drawn, lost, run_sample, sampled, save_both
from .parsing import check_parsing
from .readme import write_table
from .report import Result, counts, reasons, save, table
from .rest import find_rest_cases, run_rest
from .runner import AnyCase, find_cases, run_all


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if no case failed, 2 if there is none."""
    options = _options().parse_args(arguments)
    wanted = re.compile(options.filter)
    began = time.monotonic()
    rest = [c for c in find_rest_cases(options.folder) if wanted.search(c.full_name)]
    if rest:
        return _told(run_rest(rest, jobs=options.jobs), options, began)
    cases = [c for c in find_cases(options.folder) if wanted.search(c.full_name)]
    if not cases:
        print(f"no case below {options.folder} is called {options.filter!r}", file=sys.stderr)
        return 2
    if options.parse_only:
        return _parse_only(cases)
    with provided_functions():
        if options.live or options.restore:
            return _live(cases, options)
        return _told(run_all(cases, jobs=options.jobs, lax=options.lax), options, began)


def _told(results: Sequence[Result], options: argparse.Namespace, began: float) -> int:
    """Prints and keeps the results; 1 if one of them is a failure."""
    print(table(results))
    print("\nwhy cases failed:")
    print(reasons(results, "failed", options.groups))
    print("\nwhy cases were skipped:")
    print(reasons(results, "skipped", options.groups))
    if options.verbose:
        for r in results:
            if r.verdict.result == "failed":
                print(f"\n{r.file} - {r.name}\n    {r.verdict.reason}")
    still = [r for r in results if r.mutant_passed]
    if options.mutate:
        passed = sum(r.verdict.result == "passed" for r in results)
        print(f"\nmutation check: {len(still)} of {passed} passed with altered expectations too")
        for r in still:
            print(f"    {r.file} - {r.name}")
    if options.report is not None:
        save(results, options.report)
    if options.readme is not None:
        write_table(options.readme, results, options.folder)
    print(f"\n{time.monotonic() - began:.0f} s")
    print(counts(results))
    failed = any(r.verdict.result == "failed" for r in results) or (options.mutate and still)
    return 1 if failed else 0


def _live(cases: Sequence[AnyCase], options: argparse.Namespace) -> int:
    """The sample; 1 if a case passes in memory only."""
    kills = options.restore or 0
    began = time.monotonic()
    chosen = sampled(cases, options.sample, records=kills + 1)
    if not chosen:
        print("no case is fit for the sample", file=sys.stderr)
        return 2
    results = run_sample(chosen, jobs=options.jobs, lax=options.lax, kills=kills)
    print(drawn(results))
    if options.report is not None:
        save_both(results, options.report)
    print(f"\n{time.monotonic() - began:.0f} s")
    return 1 if lost(results) else 0


def _parse_only(cases: Sequence[AnyCase]) -> int:
    looked, failures = check_parsing(cases)
    for f in failures:
        print(f"{f.case}\n    {' '.join(f.statement.split())}\n    {f.reason}")
    print(f"{looked - len(failures)} passed, {len(failures)} failed, 0 skipped")
    return 1 if failures else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.qtt", description="Runs query cases of a folder.")
    holds = "holds qtt/*.json and sql/**/*.sql, or these files themselves; rqtt/*.json go through a real server"
    parser.add_argument("folder", type=Path, metavar="DIR", help=holds)
    parser.add_argument("--filter", default="", metavar="REGEX", help="only cases whose full name matches")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="where every case's result is written")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="cases that run at the same time")
    parser.add_argument("--groups", type=int, default=40, metavar="N", help="so many groups of reasons are printed")
    parser.add_argument("--live", action="store_true", help="a sample on a real engine, beside what it gives in memory")
    kills = "as --live, with so many kills of the JVM between the records of those that pass in memory"
    parser.add_argument("--restore", type=int, metavar="KILLS", nargs="?", const=1, help=kills)
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="cases of --live (%(default)s)")
    parser.add_argument("--readme", type=Path, metavar="FILE.md", help="a document whose table of figures is rewritten")
    parser.add_argument("--parse-only", action="store_true", help="only whether statements parse and round-trip")
    exact = parser.add_mutually_exclusive_group()
    exact.add_argument("--strict", dest="lax", action="store_false", help="numbers by their digits (the default)")
    exact.add_argument("--lax", dest="lax", action="store_true", help="every fraction is a double")
    parser.add_argument("--mutate", action="store_true", help="also check that altered expectations fail")
    parser.add_argument("--verbose", action="store_true", help="print each failure")
    parser.set_defaults(lax=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())
