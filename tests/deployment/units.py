"""Unit files of systemd as tests read them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.deployment.containerfile import ROOT

__all__ = ["FOLDER", "UNIT", "first", "settings", "uncommented"]

FOLDER = ROOT / "examples" / "systemd"
UNIT = FOLDER / "ksqlpy.service"


def settings(section: str) -> dict[str, list[str]]:
    """The settings of a section of the unit, each with all its values."""
    found: dict[str, list[str]] = {}
    inside = False
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            inside = line == f"[{section}]"
        elif inside and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def first(name: str) -> str:
    """The only value of a setting of the service."""
    [value] = settings("Service")[name]
    return value


def uncommented(file: Path) -> str:
    """A file of which the lines that are there to be taken in are."""
    return re.sub(r"(?m)^#(?=[\w.]+=)", "", file.read_text(encoding="utf-8"))
