"""What deaths of Spark's JVM say of records: stories of what tasks worked on, line by line."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from ksqlpy.runtime.recovery.suspects import Suspects
from ksqlpy.spark.working import Record, Worked

CASES = Path(__file__).with_name("suspects.txt").read_text(encoding="utf-8").split("\n\n")
_PLACE = re.compile(r"(\w+)@(\w+)/(\d+)(~?)")


def works(text: str) -> list[Worked]:
    """``query@topic/offset``: it works on that record; with ~ it waits for the next one."""
    return [
        Worked(q, Record(t, 0, int(o)), "waits" if waits else "works", 0) for q, t, o, waits in _PLACE.findall(text)
    ]


@pytest.mark.parametrize("case", CASES, ids=[c.splitlines()[0].lstrip("# ") for c in CASES])
def test_suspects(case: str, tmp_path: Path) -> None:
    now = [0.0]
    clock = partial(now.__getitem__, 0)
    suspects = Suspects(clock)
    suspects.keep_in(tmp_path / "suspects.json")
    queries: set[str] = set()
    for line in case.strip().splitlines()[1:]:
        word, _, rest = line.partition(" ")
        queries |= {w.query for w in works(rest)}
        match word:
            case "dies" | "killed":
                suspects.died(works(rest), own=word == "dies")
            case "runs":
                suspects.look(works(rest), at_rest=True)
            case "release":
                suspects.release(rest)
            case "restart":
                suspects = Suspects(clock)
                suspects.keep_in(tmp_path / "suspects.json")
            case "wait":
                now[0] += float(rest)
            case "held":
                held = [
                    f"{q} {str(p.message).rpartition(' ')[2]}" if p.code == "poison-record" else q
                    for q in sorted(queries)
                    if (p := suspects.problem(q))
                ]
                assert ", ".join(held) == rest, line
            case "apart":
                assert " ".join(q for q in sorted(queries) if suspects.waits(q)) == rest, line
            case _:
                raise AssertionError(line)


@pytest.mark.parametrize("text", ["", "[]", '{"held": {"a": 1}, "deaths": []}', '{"held": {}, "deaths": [1]}'])
def test_a_damaged_file_holds_nothing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "suspects.json"
    file.write_text(text, encoding="utf-8")
    suspects = Suspects()
    suspects.keep_in(file)
    assert suspects.problem("a") is None
    suspects.died(works("a@t/5"), own=True)
    suspects.died(works("a@t/5"), own=True)
    assert suspects.problem("a") is not None
