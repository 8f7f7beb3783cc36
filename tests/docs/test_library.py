"""The program in docs/library.md runs, and gives what the page says."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ksqlpy
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.docs.pages import pieces

PAGE = "docs/library.md"
SERVER = "http://127.0.0.1:8088"

_SHOWN = re.compile(r"  # → (.+)$")


def checked(text: str) -> str:
    """The block, with an assertion for each value that a comment shows."""
    lines: list[str] = []
    begin = 0  # of the expression, which may have several lines
    for line in text.split("\n"):
        if not line.startswith((" ", "]", ")", "}")):
            begin = len(lines)
        match = _SHOWN.search(line)
        if match is None:
            lines.append(line)
            continue
        if line.startswith("    "):
            lines.append(f"    shown({line[: match.start()].strip()}, {match[1]!r})")
            continue
        *ahead, last = [*lines[begin:], line[: match.start()]]
        lines[begin:] = ["shown((" + "\n".join([*ahead, last]) + f"), {match[1]!r})"]
    return "\n".join(lines)


def run(text: str, names: dict[str, Any]) -> None:
    """Runs a block, whose functions have their text, as in a file."""
    place = f"{PAGE} {len(names)}"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), names)


def test_a_comment_becomes_an_assertion() -> None:
    assert checked("a = 1\nf(\n    a\n)  # → 2\nwith x:\n    b  # → 3") == (
        "a = 1\nshown((f(\n    a\n)), '2')\nwith x:\n    shown(b, '3')"
    )


@pytest.mark.kafka
@pytest.mark.spark
def test_the_program_of_the_page(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asserted: list[str] = []

    def shown(value: object, text: str) -> None:
        assert repr(value) == text
        asserted.append(text)

    own = {"ksqlpy.warm.up": "false", "ksql.service.id": "page_", "ksqlpy.data.dir": str(tmp_path / "data")}
    blocks = [p.text for p in pieces(PAGE) if p.kind == "python"]
    names: dict[str, Any] = {"shown": shown}
    with monkeypatch.context() as patch:
        # The broker and the JVM of the tests; all else is as the page has it.
        engine_of = ksqlpy.Engine
        patch.setattr(ksqlpy, "Engine", lambda: engine_of(broker.bootstrap, None, own))
        run(checked(blocks[0]), names)
    try:
        with ServerThread(names["engine"]._engine) as server:
            for block in blocks[1:-1]:
                run(checked(block).replace(SERVER, server.url), names)
        run(checked(blocks[-1]), names)
    finally:
        names["engine"].close()
    assert names["engine"].closed and len(asserted) == sum(b.count("  # → ") for b in blocks) > 15
