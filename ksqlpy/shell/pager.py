"""Long output on a terminal goes through a pager: ``PAGER``, else less or more, as in psql."""

from __future__ import annotations

import os
import pydoc
import shlex
import shutil
from collections.abc import Sequence

__all__ = ["MODES", "pager", "show"]

MODES = ("on", "off", "always")
"""``on``: for what is longer than the screen."""


def pager() -> str | None:
    """The command of the pager; None: there is none, or PAGER is empty."""
    given = os.environ.get("PAGER")
    if given is not None:
        try:
            words = shlex.split(given)
        except ValueError:
            return None
        return given if words and shutil.which(words[0]) else None
    return next((name for name in ("less", "more") if shutil.which(name)), None)


def show(lines: Sequence[str], command: str) -> None:
    """Shows lines in a pager, until the person leaves it."""
    os.environ.setdefault("LESS", "FRX")  # with colours; what it has shown stays on the screen
    pydoc.pipepager("\n".join([*lines, ""]), command)
