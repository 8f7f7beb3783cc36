"""A sample of the cases on a real engine, beside what they give without Kafka; with or without kills in between."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.runtime import Engine
from ksqlpy.testing.served import Pace
from tests.harness.restore import PACE, engine_of_its_own
from tests.harness.together import run_together, sample

from .cases import CATEGORIES, Case
from .judge import Verdict, skipped
from .live import LiveCase, run_live
from .runner import AnyCase, run_one

__all__ = ["LIVE", "Both", "drawn", "lost", "run_live_all", "run_sample", "sampled", "save_both"]

LIVE = (
    "n-way join",
    "STJ",
    "TTJ",
    "hopping",
    "tumbling",
    "table aggregate",
    "stream aggregate",
    "UDTF",
    "PARTITION BY",
    "INSERT INTO",
)
"""The categories that are sampled: those in which order, state and several topics matter."""

BATCH = 60
"""Cases that go through the same kills."""


@dataclass(frozen=True)
class Both:
    """A case with its verdicts: without Kafka, and on a real engine."""

    case: Case
    memory: Verdict
    live: Verdict


def sampled(cases: Sequence[AnyCase], count: int, *, records: int = 1) -> list[Case]:
    """So many cases of :data:`LIVE` that want records and need nothing that is not built, the same ones each time.

    ``records``: so many must go in at least.
    """
    fit = [
        c
        for c in cases
        if isinstance(c, Case)
        and c.category in LIVE
        and c.expected_error is None
        and c.outputs
        and len(c.inputs) >= records
        and skipped(c) is None
    ]
    return sample(fit, count, group=lambda c: c.category, name=lambda c: c.full_name)


def run_sample(cases: Sequence[Case], *, jobs: int, lax: bool, kills: int = 0) -> list[Both]:
    """Runs each case both ways; ``kills``: of the engine's JVM, between the records of those that pass in memory."""
    with (
        engine_of_its_own() as engine,
        tempfile.TemporaryDirectory(prefix="qtt-", ignore_cleanup_errors=True) as name,
        ThreadPoolExecutor(jobs) as pool,
    ):
        folder = Path(name)
        memory = list(pool.map(lambda c: run_one(c, engine.session, folder, lax=lax).verdict, cases))
        print(
            f"{sum(v.result == 'passed' for v in memory)} of {len(cases)} pass in memory", file=sys.stderr, flush=True
        )
        if kills:
            live = _restored(engine, cases, memory, kills=kills, lax=lax)
        else:
            live = run_live_all(engine, cases, PACE, jobs=jobs, lax=lax)
    return [Both(*found) for found in zip(cases, memory, live, strict=True)]


def run_live_all(engine: Engine, cases: Sequence[Case], pace: Pace, *, jobs: int, lax: bool) -> list[Verdict]:
    """The verdicts of cases on an engine, so many at a time."""

    def one(case: Case) -> Verdict:
        verdict = run_live(engine, case, pace, lax=lax)
        if verdict.result != "passed":
            _tell(f"{case.full_name}: {verdict.reason}")
        return verdict

    with ThreadPoolExecutor(jobs) as pool:
        found = []
        for verdict in pool.map(one, cases):
            found.append(verdict)
            if len(found) % 10 == 0:
                _tell(f"{len(found)} of {len(cases)}, {sum(v.result == 'passed' for v in found)} passed")
        return found


def _restored(
    engine: Engine, cases: Sequence[Case], memory: Sequence[Verdict], *, kills: int, lax: bool
) -> list[Verdict]:
    found = {}
    fit = [c for c, v in zip(cases, memory, strict=True) if v.result == "passed"]
    for first in range(0, len(fit), BATCH):
        batch = fit[first : first + BATCH]
        live = [LiveCase(engine, c, PACE, lax=lax) for c in batch]
        failures = run_together(engine, live, kills=kills, tell=_tell)
        for case, job, failure in zip(batch, live, failures, strict=True):
            verdict = Verdict("passed") if failure is None else Verdict("failed", failure, "a failure")
            found[case.full_name] = job.verdict or verdict
            job.drop()
    not_run = Verdict("skipped", "fails in memory", "fails in memory")
    return [found.get(c.full_name, not_run) for c in cases]


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def drawn(results: Sequence[Both]) -> str:
    """A table by category, and the cases that pass without Kafka only."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for r in results:
        for name in (r.case.category, "all"):
            rows[name]["cases"] += 1
            rows[name]["memory"] += r.memory.result == "passed"
            rows[name]["live"] += r.live.result == "passed"
            rows[name]["both"] += r.memory.result == r.live.result == "passed"
    lines = [f"{'category':<18}{'cases':>8}{'memory':>8}{'live':>8}{'both':>8}"]
    for name in (*(c for c in CATEGORIES if c in rows), "all"):
        n = rows[name]
        lines.append(f"{name:<18}{n['cases']:>8}{n['memory']:>8}{n['live']:>8}{n['both']:>8}")
    for title, ones in (("in memory only", lost(results)), ("live only", won(results))):
        lines.append(f"\n{len(ones)} pass {title}")
        lines += [
            f"    {r.case.full_name}\n        {(r.live if r in lost(results) else r.memory).reason}" for r in ones
        ]
    return "\n".join(lines)


def lost(results: Sequence[Both]) -> list[Both]:
    """Those that pass without Kafka only."""
    return [r for r in results if r.memory.result == "passed" != r.live.result]


def won(results: Sequence[Both]) -> list[Both]:
    """Those that pass with Kafka only."""
    return [r for r in results if r.live.result == "passed" != r.memory.result]


def save_both(results: Sequence[Both], file: Path) -> None:
    """Writes the report file."""
    cases = [
        {
            "name": r.case.full_name,
            "category": r.case.category,
            "memory": r.memory.result,
            "live": r.live.result,
            "reason": r.live.reason or r.memory.reason,
        }
        for r in results
    ]
    file.write_text(json.dumps({"cases": cases}, ensure_ascii=False, indent=1), encoding="utf-8")
