"""Runs the cases of statement files with kills between their records: ``python -m tests.harness.restore FILE|DIR``.

As :mod:`.together` does it, on an engine of its own, in batches. With ``--sample`` only cases take part that have a
record for each part; else all whose statements are not refused: one that has fewer must not give its results again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.testing.cases import Case, read_cases
from ksqlpy.testing.live import LiveCase
from ksqlpy.testing.registry import shared_registry
from ksqlpy.testing.served import Pace
from tests.harness.together import run_together, sample

__all__ = ["PACE", "engine_of_its_own", "fit", "main", "restorable"]

PACE = Pace(deadline=300, late=15, look=0.2)
"""Cold queries of a whole batch start at once."""


_CALM = replace(PACE, quiet=8)
"""Beside so many others a row that was read may take a second to its join, and a row of another topic overtake it."""

_FULL = "error[no-slots]"
"""How the failure begins of a case that found no room beside others."""

_JAVA_OPTIONS = (
    # Most code runs a few times only: without the second compiler it costs a third less of the processor.
    "-XX:TieredStopAtLevel=1",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit code: 0 all passed, 1 a case failed, 2 there is none."""
    options = _options().parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())  # else clients complain about the JVM that is killed
    began = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    try:
        found = restorable(options.files)
    except KsqlError as e:
        print(e.render(), file=sys.stderr)
        return 2
    cases = [c for c in found if options.k in f"{c.file.stem}: {c.name}"]
    if options.sample:
        cases = fit(cases, options.sample, options.kills)
    if not cases:
        print("there is no such case", file=sys.stderr)
        return 2
    properties = {"processing.guarantee": options.guarantee} if options.guarantee else {}
    failures: dict[str, str | None] = {}
    batches = 0
    for master in (options.master, options.larger):
        if cases and master:
            tell(f"{len(cases)} cases on {master}")
            with engine_of_its_own(master) as engine:
                tell("the engine is started")
                runs = _Runs(engine, options.batch, options.kills, properties, tell)
                cases = runs.run(cases, failures)
                batches += runs.count
    for name, failure in failures.items():
        if failure is not None:
            print(f"\nFAILED {name}\n{failure}")
    if options.report is not None:
        options.report.write_text(json.dumps(failures, ensure_ascii=False, indent=1), encoding="utf-8")
    failed = sum(f is not None for f in failures.values())
    print(f"\n{time.monotonic() - began:.0f} s, {options.kills} kills for each of {batches} batches")
    print(f"{len(failures) - failed} passed, {failed} failed")
    return 1 if failed else 0


class _Runs:
    """Runs of cases in batches of at most ``batch``; ``count``: how many there were."""

    def __init__(
        self, engine: Engine, batch: int, kills: int, properties: Mapping[str, object], tell: Callable[[str], None]
    ) -> None:
        self._engine, self._size, self._kills, self._properties, self._tell = engine, batch, kills, properties, tell
        self.count = 0

    def run(self, cases: Sequence[Case], failures: dict[str, str | None]) -> list[Case]:
        """Notes for each case why it failed, or None; gives those that need more task slots than there are.

        A case that finds no room beside others comes again, with fewer of them.
        """
        size = self._size
        while True:
            refused = [case for batch in self._batches(cases, size) for case in self._run(batch, failures)]
            if not refused or size == 1:
                return refused
            self._tell(f"{len(refused)} cases found no room beside others, and come again")
            cases, size = refused, size // 2

    def _batches(self, cases: Sequence[Case], size: int) -> Iterator[Sequence[Case]]:
        for i in range(0, len(cases), size):
            batch = cases[i : i + size]
            self._tell(f"batch {i // size + 1} of {-(-len(cases) // size)}: {len(batch)} cases")
            yield batch

    def _run(self, batch: Sequence[Case], failures: dict[str, str | None]) -> list[Case]:
        jobs = [LiveCase(self._engine, case, _CALM) for case in batch]
        came = run_together(self._engine, jobs, kills=self._kills, properties=self._properties, tell=self._tell)
        failures |= {job.name: failure for job, failure in zip(jobs, came, strict=True)}
        for job in jobs:
            job.drop()
        self.count += 1
        return [c for c, failure in zip(batch, came, strict=True) if failure is not None and failure.startswith(_FULL)]


def restorable(files: Sequence[Path]) -> list[Case]:
    """The cases of files, and of files ``*.test`` in folders, that run and pass; raises FileProblem."""
    found = [f for path in files for f in (sorted(path.glob("*.test")) if path.is_dir() else [path])]
    cases = [case for file in found for case in read_cases(file)]
    return [c for c in cases if c.error is None and c.known_fault is None]


def fit(cases: Sequence[Case], count: int, kills: int = 1) -> list[Case]:
    """A sample of cases that have a record for each part, the same one each time, from all files."""
    able = [c for c in cases if _records(c) > kills]
    return sample(able, count, group=lambda c: c.file, name=lambda c: f"{c.file.stem}: {c.name}")


def _records(case: Case) -> int:
    return sum(len(s.content) for s in case.of_kind("input"))


@contextmanager
def engine_of_its_own(master: str = "local[1024]") -> Iterator[Engine]:
    """An engine with broker and JVM of its own, in a folder that goes with it."""
    os.environ["JAVA_TOOL_OPTIONS"] = " ".join(_JAVA_OPTIONS) + " " + os.environ.get("JAVA_TOOL_OPTIONS", "")
    with scratch_folder("ksqlpy-together-") as folder:
        registry, name = shared_registry()
        engine = Engine(
            Config.of(
                {
                    "ksqlpy.data.dir": str(folder),
                    "ksqlpy.spark.master": master,
                    "ksqlpy.spark.memory": "2g",
                    "ksqlpy.warm.up": "false",
                    "ksqlpy.functions.python.enabled": "true",
                    "ksql.schema.registry.url": registry.url(name),
                }
            )
        )
        engine.start()
        try:
            yield engine
        finally:
            engine.stop()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.harness.restore", description="Runs cases whose JVM is killed between their records."
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE|DIR", help="statement files, or folders of them")
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases whose file and name hold the text")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many cases, the same ones each time")
    parser.add_argument("--kills", type=int, default=1, metavar="N", help="between the parts of records (%(default)s)")
    parser.add_argument("--batch", type=int, default=60, metavar="N", help="cases that run together (%(default)s)")
    parser.add_argument("--guarantee", choices=("exactly_once", "at_least_once"), help="processing.guarantee to set")
    parser.add_argument("--master", default="local[1024]", help="the Spark master (%(default)s)")
    parser.add_argument(
        "--larger", metavar="MASTER", help="where cases run that need more task slots than --master has"
    )
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="where the failures are written, by case")
    return parser


if __name__ == "__main__":
    sys.exit(main())
