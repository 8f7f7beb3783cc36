"""The table of a run in a document: figures by category, between two markers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from ksqlpy.version import __version__

from .report import KINDS, Result, in_order

__all__ = ["BEGIN", "END", "read_figures", "version_of", "write_table"]

BEGIN, END = "<!-- conformance -->", "<!-- /conformance -->"
TOTAL = "all"
TITLES = {
    "SSJ": "stream-stream join",
    "STJ": "stream-table join",
    "TTJ": "table-table join",
    "FK join": "foreign-key join",
    "session": "session windows",
    "hopping": "hopping windows",
    "tumbling": "tumbling windows",
}
"""What a document calls categories whose names are short."""


def write_table(file: Path, results: Sequence[Result], folder: Path) -> None:
    """Puts the table of the results between the markers of the file; ``folder``: where the cases lie.

    Raises ValueError without the markers.
    """
    text = file.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{file} has no markers {BEGIN} and {END}")
    table = _table(results, version_of(folder), date.today())
    file.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


def _table(results: Sequence[Result], version: str | None, day: date) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for r in results:
        rows[r.category][r.verdict.result] += 1
        rows[TOTAL][r.verdict.result] += 1
    lines = ["| category | run | passed | skipped | share |", "|---|--:|--:|--:|--:|"]
    for name in (*in_order(rows.keys() - {TOTAL}), TOTAL):
        passed, failed, skipped = (rows[name][k] for k in KINDS)
        run = passed + failed
        share = f"{100 * passed / run:.1f} %" if run else "-"
        lines.append(f"| {TITLES.get(name, name)} | {run} | {passed} | {skipped} | {share} |")
    of = f"the cases of commit {version[:12]}" if version else "the cases"
    lines += ["", f"ksqlpy {__version__}, {day.isoformat()}, {of}."]
    return "\n".join(lines)


def version_of(folder: Path) -> str | None:
    """The commit from which the cases are, if a README beside them says so."""
    readme = folder / "README.md"
    found = re.search(r"commit ([0-9a-f]{12,40})", readme.read_text(encoding="utf-8")) if readme.is_file() else None
    return found[1] if found else None


_ROW = re.compile(r"\| ([\w -]+) \| (\d+) \| (\d+) \| (\d+) \| (-|[\d.]+ %) \|")


def read_figures(text: str) -> dict[str, tuple[int, int, int]]:
    """Run, passed and skipped by category, as a document has them between its markers; raises ValueError."""
    between = re.search(re.escape(BEGIN) + r"\n(.*)\n" + re.escape(END), text, re.DOTALL)
    if between is None:
        raise ValueError(f"there are no markers {BEGIN} and {END}")
    rows = [line for line in between[1].splitlines() if line.startswith("|")][2:]
    found = {}
    for row in rows:
        match = _ROW.fullmatch(row)
        if match is None:
            raise ValueError(f"this is no row of figures: {row}")
        found[match[1]] = (int(match[2]), int(match[3]), int(match[4]))
    return found
