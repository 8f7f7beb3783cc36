"""The browser of tests and measurements of the page: Debian's Chromium, or another one that is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import ksqlpy

__all__ = ["BUILT", "PROGRAMS", "QUIET", "chromium"]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""A browser that asks nothing of the network by itself."""

BUILT = Path(ksqlpy.__file__).parent / "web" / "static" / "index.html"
"""The page, where it is built."""


def chromium() -> str | None:
    """The program."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
