"""A command of the shell is one entry of the table: the prompt, help and completion then know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ksqlpy.completion.complete import complete
from ksqlpy.completion.names import Names, Source
from ksqlpy.errors import ConfigProblem
from ksqlpy.shell.help import overview, page
from ksqlpy.shell.special import SPECIALS, arguments, commands, match, submits
from tests.shell.first_rows import FIRST


@pytest.fixture(autouse=True)
def first() -> Iterator[None]:
    SPECIALS.append(FIRST)
    yield
    SPECIALS.remove(FIRST)


class Shell:
    """Keeps what it is told to run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, text: str) -> None:
        self.ran.append(text)


def typed(line: str) -> list[str]:
    shell: Any = Shell()
    found = match(line)
    assert found is not None and submits(line)
    special, rest = found
    special.run(shell, rest)
    ran: list[str] = shell.ran
    return ran


def test_it_runs() -> None:
    assert typed("\\first rides") == ["SELECT * FROM rides EMIT CHANGES LIMIT 5;"]
    assert typed("\\FIRST rides 10") == ["SELECT * FROM rides EMIT CHANGES LIMIT 10;"]
    with pytest.raises(ConfigProblem) as refused:
        typed("\\first rides ten")
    assert (refused.value.code, refused.value.hint) == ("bad-command", FIRST.usage)
    found = match("\\f rides")
    assert found is not None and found[0].names == ("\\f",)


def test_help_and_completion_know_it() -> None:
    usages = [(s.usage, s.help) for s in SPECIALS]
    assert any(FIRST.usage in line for line in overview(usages, 100))
    assert (
        next(iter(page("\\first", {n.lower(): (s.usage, s.help) for s in SPECIALS for n in s.names}, 100)))
        == FIRST.usage
    )
    names = Names(sources={"RIDES": Source("RIDES", "STREAM")}, commands=commands(), arguments=arguments())
    assert [s.text for s in complete("\\first ri", names, "")] == ["rides"]
    assert "\\first" in [s.text for s in complete("\\fir", names, "")]
