"""The file of figures: what was to be measured, on what machine, with which versions, and each run's figures.

It is written anew after each run, so that a report that was interrupted can go on.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

__all__ = ["LATENCY", "THROUGHPUT", "Record", "Refused", "Settings", "Step"]

THROUGHPUT, LATENCY = "throughput", "latency"


class Refused(Exception):
    """A report that cannot be begun, or cannot go on; the text says why."""


@dataclass(frozen=True)
class Settings:
    """What is measured. A part without records, or without seconds, is left out.

    ``records``: of a backlog; ``interval``: seconds between checkpoints; ``seed``: of the orders; ``rate``: records a
    second of the latency part, and ``seconds``: for how long.
    """

    jobs: tuple[str, ...]
    who: tuple[str, ...]
    records: int
    rounds: int
    seed: int
    interval: int
    rate: int
    seconds: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Those that stand in a file."""
        return cls(**{**values, "jobs": tuple(values["jobs"]), "who": tuple(values["who"])})


@dataclass(frozen=True)
class Step:
    """One run: of a job, by a contender, in a round; ``place``: where in the order of the round; both from 1 on."""

    part: str
    job: str
    who: str
    round: int
    place: int

    @property
    def names(self) -> dict[str, str | int]:
        """What an entry of the file says of its run."""
        return {"job": self.job, "who": self.who, "round": self.round, "place": self.place}


class Record:
    """The figures of one report, and the file that keeps them."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self._path, self.content = path, content

    @classmethod
    def begin(
        cls,
        path: Path,
        settings: Settings,
        conditions: Mapping[str, Any],
        left_out: Sequence[Mapping[str, str]],
        date: str,
        *,
        go_on: bool,
    ) -> Self:
        """A new report, or one that goes on; raises Refused.

        ``conditions``: ``queries``, ``machine``, ``versions``, and ``same``, what all contenders have. ``left_out``:
        ``job``, ``who`` and ``why`` of those that are not compared.
        """
        new = {
            "settings": json.loads(json.dumps(asdict(settings))),
            **conditions,
            "dates": [date],
            "left_out": [*left_out],
            THROUGHPUT: [],
            LATENCY: [],
            "failed": [],
        }
        if not path.exists():
            if go_on:
                raise Refused(f"there is no {path} to go on with")
            return cls(path, new)
        there = cls.read(path)
        if not go_on:
            if left := there.left():
                raise Refused(f"{path} lacks {len(left)} runs: --go-on measures them, or delete it")
            return cls(path, new)
        for part in ("settings", *conditions):
            there._same(part, new[part])
        there.content["dates"].append(date)
        there.content["failed"] = []  # they are tried again
        return there

    @classmethod
    def read(cls, path: Path) -> Self:
        """The figures of a file."""
        return cls(path, json.loads(path.read_text(encoding="utf-8")))

    def _same(self, part: str, values: Mapping[str, Any]) -> None:
        for name in (*self.content[part], *values):
            before, now = self.content[part].get(name), values.get(name)
            if before != now:
                raise Refused(f"{self._path} was begun with {name} {before}, not {now}")

    @property
    def settings(self) -> Settings:
        """What is measured."""
        return Settings.of(self.content["settings"])

    def steps(self) -> list[Step]:
        """All runs in their order: in each round of a job an order of contenders of its own, by the seed."""
        settings = self.settings
        out = {(o["job"], o["who"]) for o in self.content["left_out"]}
        rounds = [
            *((THROUGHPUT, number) for number in range(1, settings.rounds + 1) if settings.records),
            *((LATENCY, 1) for _ in range(1) if settings.seconds),
        ]
        found: list[Step] = []
        for part, number in rounds:
            for job in settings.jobs:
                able = [who for who in settings.who if (job, who) not in out]
                random.Random(f"{settings.seed} {part} {number} {job}").shuffle(able)
                found.extend(Step(part, job, who, number, place) for place, who in enumerate(able, 1))
        return found

    def left(self) -> list[Step]:
        """Those that have neither figures nor a reason why they have none."""
        known = {(part, e["job"], e["who"], e["round"]) for part in (THROUGHPUT, LATENCY) for e in self.content[part]}
        known |= {(e["part"], e["job"], e["who"], e["round"]) for e in self.content["failed"]}
        return [s for s in self.steps() if (s.part, s.job, s.who, s.round) not in known]

    def add(self, step: Step, figures: Mapping[str, Any]) -> None:
        """Keeps a run's figures; those that are no numbers are null."""
        self.content[step.part].append({**step.names, **{name: _plain(value) for name, value in figures.items()}})
        self._write()

    def fail(self, step: Step, why: str) -> None:
        """Keeps why a run has no figures."""
        self.content["failed"].append({"part": step.part, **step.names, "why": why})
        self._write()

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text(json.dumps(self.content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(new, self._path)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    return value
