"""What a run printed and left: a table by category, the most frequent reasons, and a JSON file."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cases import CATEGORIES
from .judge import Verdict

__all__ = ["KINDS", "Result", "counts", "in_order", "reasons", "save", "table"]

KINDS = ("passed", "failed", "skipped")


@dataclass(frozen=True)
class Result:
    """A case's line in the report; ``seconds`` it took."""

    file: str
    name: str
    category: str
    formats: tuple[str, ...]
    verdict: Verdict
    seconds: float = 0.0
    mutant_passed: bool = False


def table(results: Sequence[Result]) -> str:
    """Passed, failed and skipped by category."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for r in results:
        rows[r.category][r.verdict.result] += 1
    lines = [f"{'category':<18}{'passed':>8}{'failed':>8}{'skipped':>9}{'of run':>9}"]
    for name in in_order(rows):
        n = rows[name]
        run = n["passed"] + n["failed"]
        share = f"{100 * n['passed'] / run:.1f} %" if run else "-"
        lines.append(f"{name:<18}{n['passed']:>8}{n['failed']:>8}{n['skipped']:>9}{share:>9}")
    return "\n".join(lines)


def in_order(categories: Collection[str]) -> list[str]:
    """The categories in the order in which they are printed."""
    known = (*CATEGORIES, "SQL tests")
    return [*(c for c in known if c in categories), *sorted(set(categories) - {*known})]


def reasons(results: Sequence[Result], result: str, limit: int) -> str:
    """The most frequent reasons for a result, each with cases that show it."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for r in results:
        if r.verdict.result == result:
            groups[r.verdict.group].append(r)
    lines = []
    for group, members in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0]))[:limit]:
        shown = "; ".join(f"{m.file} - {m.name}" for m in members[:2])
        lines += [f"{len(members):>5}  {group}", f"       {shown[:170]}"]
    if len(groups) > limit:
        lines.append(f"       … and {len(groups) - limit} more groups")
    return "\n".join(lines)


def counts(results: Sequence[Result]) -> str:
    """The closing line."""
    found = Counter(r.verdict.result for r in results)
    return ", ".join(f"{found[k]} {k}" for k in KINDS)


def save(results: Sequence[Result], file: Path) -> None:
    """Writes the report file."""
    cases: list[dict[str, Any]] = [
        {
            "file": r.file,
            "name": r.name,
            "category": r.category,
            "formats": list(r.formats),
            "result": r.verdict.result,
            "reason": r.verdict.reason,
            "group": r.verdict.group,
            "seconds": round(r.seconds, 2),
        }
        for r in results
    ]
    file.write_text(json.dumps({"cases": cases}, ensure_ascii=False, indent=1), encoding="utf-8")
