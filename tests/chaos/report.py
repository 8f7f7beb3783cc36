"""What a run found, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.chaos.kills import Kill
from tests.chaos.options import Options
from tests.chaos.verdict import HEADER, Verdict

__all__ = ["Report"]


@dataclass
class Report:
    """The findings: verdicts by job, kills, and ``problems`` that belong to no job.

    ``sent``: records in all; ``seconds``: that the load took.
    """

    options: Options
    sent: int = 0
    seconds: float = 0.0
    verdicts: list[Verdict] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every job is as it must be and nothing else went wrong."""
        return bool(self.verdicts) and all(v.ok for v in self.verdicts) and not self.problems

    def lines(self) -> Iterator[str]:
        """The report for people."""
        o = self.options
        yield (
            f"seed {o.seed}, {o.partitions} partition(s){', scattered' if o.scatter else ''}, checkpoints every"
            f" {o.commit_interval / 1000:g} s, guarantee {o.guarantee or 'as the server has it'};"
            f" {self.sent:,} records in {self.seconds:.0f} s"
        )
        if self.kills:
            yield ""
            yield (
                f"{'kill':>4}  {'kind':8}{'at':>9}{'down':>9}{'first result':>15}{'of every job':>15}"
                f"{'caught up':>13}{'children gone':>16}"
            )
            for number, kill in enumerate(self.kills, 1):
                mark = kill.mark
                times = (None if at is None else at - mark.since for at in (mark.first, mark.every, mark.caught_up))
                first, every, caught_up = (_seconds(t, "never") for t in times)
                yield (
                    f"{number:>4}  {kill.kind:8}{_seconds(kill.at):>9}{_seconds(kill.down):>9}{first:>15}{every:>15}"
                    f"{caught_up:>13}{_seconds(kill.children):>16}"
                ).rstrip()
        yield ""
        yield HEADER
        for verdict in self.verdicts:
            yield verdict.line()
            yield from (f"    {d}" for d in verdict.differences)
        for problem in self.problems:
            yield f"problem: {problem}"
        yield ""
        yield f"chaos: {'ok' if self.ok else 'FAILED'}"


def _seconds(value: float | None, none: str = "") -> str:
    return none if value is None else f"{value:.1f} s"
