"""What the check of one job found."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["HEADER", "SHOWN", "Verdict"]

SHOWN = 5
"""Differences that are kept for people; the rest are only counted."""

HEADER = f"{'job':16}{'in':>9}{'due':>9}{'out':>9}{'twice':>9}{'missing':>9}{'back':>9}{'wrong':>9}"
"""The names above the figures of :meth:`Verdict.line`."""


@dataclass
class Verdict:
    """Figures of one job, in records.

    ``sent``: records of its stream; ``due``: results that they must give; ``out``: results that there are. ``twice``:
    what was counted or came again; ``missing``: what never came; ``back``: results that step back behind an earlier
    one; ``wrong``: values that no order of the records explains. ``differences``: the first of them, in words.
    """

    job: str
    sent: int = 0
    due: int = 0
    out: int = 0
    twice: int = 0
    missing: int = 0
    back: int = 0
    wrong: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not (self.twice or self.missing or self.back or self.wrong)

    def note_twice(self, what: str) -> None:
        """Counts something that came again."""
        self.twice += 1
        self._keep(f"twice: {what}")

    def note_missing(self, what: str, count: int = 1) -> None:
        """Counts what never came."""
        self.missing += count
        self._keep(f"missing: {what}")

    def note_back(self, what: str) -> None:
        """Counts a step back."""
        self.back += 1
        self._keep(f"back: {what}")

    def note_wrong(self, what: str) -> None:
        """Counts a value that cannot be."""
        self.wrong += 1
        self._keep(f"wrong: {what}")

    def _keep(self, text: str) -> None:
        if len(self.differences) < SHOWN:
            self.differences.append(text)

    def line(self) -> str:
        """The figures in one line under :data:`HEADER`."""
        figures = (self.sent, self.due, self.out, self.twice, self.missing, self.back, self.wrong)
        return f"{self.job:16}{''.join(f'{f:>9,}' for f in figures)}  {'ok' if self.ok else 'FAILED'}"
