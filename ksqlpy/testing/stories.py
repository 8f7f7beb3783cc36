"""The examples of ``examples/``: which there are, what each is about, and how one is run and compared.

An example of statements has ``*.test`` files beside its SQL file. One that is a program has ``main.py``, and
``expected.txt`` with exactly what it prints; ``requirements.txt`` where it needs packages that ksqlpy does not. The
others (units of systemd, a Helm chart) are files to copy.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ksqlpy.errors import ConfigProblem, EnvironmentProblem, file_reason, similar_names

__all__ = ["EXPECTED", "FOLDER", "PROGRAM", "Story", "copy_story", "find_story", "read_stories", "run_program"]

FOLDER = Path(__file__).parents[1] / "examples"
"""Those of this installation: in a checkout a link to ``examples/``."""

PROGRAM, EXPECTED, REQUIREMENTS = "main.py", "expected.txt", "requirements.txt"
PATIENCE = 300
"""Seconds that a program may take."""

_ROW = re.compile(r"\| \[([\w-]+)\]\(\1\) \| (.+) \|")
"""A line of the table in ``README.md``: an example and what it is about."""
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]*")
"""The name of a package, with which a line of ``requirements.txt`` begins."""


@dataclass(frozen=True)
class Story:
    """An example; ``about``: in one line."""

    folder: Path
    about: str

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.name

    @property
    def tests(self) -> list[Path]:
        """Its ``*.test`` files."""
        return sorted(self.folder.glob("*.test"))

    @property
    def program(self) -> Path | None:
        """Its program, if it is one."""
        file = self.folder / PROGRAM
        return file if file.is_file() else None

    @property
    def missing(self) -> list[str]:
        """The packages of its ``requirements.txt`` that are not installed."""
        file = self.folder / REQUIREMENTS
        lines = file.read_text(encoding="utf-8").split("\n") if file.is_file() else []
        names = [found[0] for line in lines if (found := _PACKAGE.match(line))]
        return [name for name in names if not any(metadata.distributions(name=name))]

    @property
    def runs(self) -> bool:
        """Whether there is something to run and to compare."""
        return bool(self.tests) or self.program is not None


def read_stories() -> list[Story]:
    """All examples, in the order of the table in ``README.md``; raises EnvironmentProblem ``no-examples``."""
    folder = FOLDER
    try:
        page = (folder / "README.md").read_text(encoding="utf-8")
    except OSError as e:
        why = file_reason(e)
        raise EnvironmentProblem("no-examples", f"the examples cannot be read: {folder}: {why}") from e
    return [Story(folder / row[1], row[2]) for line in page.split("\n") if (row := _ROW.fullmatch(line))]


def find_story(name: str) -> Story:
    """The example of that name; raises ConfigProblem ``unknown-example``."""
    stories = {s.name: s for s in read_stories()}
    if name not in stories:
        raise ConfigProblem(
            "unknown-example",
            f"there is no example {name}",
            hint="ksqlpy examples lists them",
            similar=tuple(n.lower() for n in similar_names(name, stories)),
        )
    return stories[name]


def copy_story(story: Story, to: Path) -> Path:
    """Copies the files of an example to a folder that is not there yet, and returns it.

    Raises ConfigProblem ``file-unwritable``.
    """
    try:
        shutil.copytree(story.folder, to, ignore=shutil.ignore_patterns("__pycache__"))
    except (OSError, shutil.Error) as e:
        why = "there is something of this name" if isinstance(e, FileExistsError) else _reason(e)
        raise ConfigProblem("file-unwritable", f"{story.name} cannot be copied to {to}: {why}") from e
    return to


def _reason(error: OSError) -> str:
    """Of an error, or of the first of several."""
    return str(error.args[0][0][2]) if isinstance(error, shutil.Error) else file_reason(error)


def run_program(story: Story, scratch: Path, python: str = sys.executable, patience: float = PATIENCE) -> list[str]:
    """Runs the program of an example in a copy below ``scratch``; gives the differences, none where it is as expected.

    With this ksqlpy, in a process group of its own, which ends with the call.
    """
    here = copy_story(story, scratch / story.name)
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [python, PROGRAM], cwd=here, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return [f"{PROGRAM} has not ended within {patience:g} seconds"]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    expected = (story.folder / EXPECTED).read_text(encoding="utf-8")
    found = [d for d in difflib.ndiff(expected.split("\n"), out.split("\n")) if not d.startswith("?")]
    if process.returncode:
        return [f"{PROGRAM} ends with exit code {process.returncode}", *err.rstrip().split("\n")]
    return [] if out == expected else [f"{PROGRAM} prints something else (- expected, + actual)", *found]
