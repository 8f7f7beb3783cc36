"""The picture of the web page in README.md: tests/web/test_sample.py takes it, ``make picture`` anew."""

from __future__ import annotations

import struct
from pathlib import Path

ROOT = Path(__file__).parents[2]

PICTURE = ROOT / "docs" / "web-page.png"

LARGEST = 150 * 1024
"""Bytes: each clone has it."""


def test_the_readme_shows_it() -> None:
    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in (ROOT / "README.md").read_text(encoding="utf-8")
    taken = PICTURE.read_bytes()
    assert len(taken) <= LARGEST
    width, height = struct.unpack(">II", taken[16:24])
    assert (taken[:8], width >= 1000, height >= 500) == (b"\x89PNG\r\n\x1a\n", True, True)
