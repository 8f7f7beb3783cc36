"""One more command of the shell, as someone would add it: ``\\first NAME [N]`` shows the first rows of a source."""

from __future__ import annotations

from ksqlpy.errors import ConfigProblem
from ksqlpy.shell.special import Shell, Special

USAGE = "\\first NAME [N]"


def run(shell: Shell, rest: str) -> None:
    name, _, number = rest.partition(" ")
    if not name or not (number or "5").isdecimal():
        raise ConfigProblem("bad-command", "\\first takes the name of a stream or table, and a number", hint=USAGE)
    shell.run(f"SELECT * FROM {name} EMIT CHANGES LIMIT {number or 5};")


FIRST = Special(("\\first",), USAGE, "Shows the first rows of a stream or table, 5 or N.", run, ("{sources}",))
