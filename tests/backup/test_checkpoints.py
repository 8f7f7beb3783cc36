"""Which files of a checkpoint make its last committed state: the cases of ``checkpoints.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksqlpy.backup.checkpoints import NotWhole, committed

TEXT = (Path(__file__).parent / "checkpoints.txt").read_text(encoding="utf-8")
CASES = [part.strip().splitlines() for part in TEXT.split("\n## ")[1:]]
UNIQUE = "aa"


def content(name: str, told: str) -> str:
    """The content of a file, of which the case says something."""
    if name == "notes.json":
        return f'{{"folder": "{told}"}}\n00000000\n'
    if told == "torn":
        return "v1"
    return f'v1\n{{"unique": "{told or UNIQUE}"}}'


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_the_last_committed_state(case: list[str]) -> None:
    files: dict[str, str] = {}
    taken = set()
    for line in case[1:-1]:
        name, _, told = line[2:].partition(" ")
        files[name] = content(name, told)
        if line.startswith("+"):
            taken.add(name)
    wanted = case[-1].removeprefix("= ")
    if wanted.startswith("not whole: "):
        with pytest.raises(NotWhole) as e:
            committed(files, files.__getitem__)
        assert str(e.value) == wanted.removeprefix("not whole: ")
        return
    state = committed(files, files.__getitem__)
    assert set(state.files) == taken
    assert state.batch == (None if wanted == "none" else int(wanted))
    assert state.begun == ("plan.json" in files)


def test_every_rule_has_a_case() -> None:
    assert len(CASES) == 13 == len({c[0] for c in CASES})
