"""The examples of docs/rest.md, as a reader pastes them into a terminal: each gives what stands below it."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.openapi import ENDPOINTS
from ksqlpy.spark.kafka import Kafka
from tests.docs.pages import ROOT, pieces
from tests.support.real_server import real_server

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PAGE = "docs/rest.md"
URL = "http://localhost:8088"


def examples(page: str = PAGE) -> list[tuple[str, str]]:
    """The commands, each with what it prints; ``…`` stands for anything."""
    found: list[tuple[str, str]] = []
    for piece in pieces(page):
        if piece.kind == "console":
            for part in re.split(r"^\$ ", piece.text, flags=re.MULTILINE)[1:]:
                lines = part.split("\n")
                number = next(i for i, line in enumerate(lines) if i and line[:1] in ("{", "[", "t"))
                found.append(("\n".join(lines[:number]), "\n".join(lines[number:]).strip()))
    return found


def test_all_endpoints_stand_on_the_pages() -> None:
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in (PAGE, "docs/rest-editors.md"))
    for _, path in ENDPOINTS:
        assert path.split("/{")[0] in text, path
    assert len(examples()) > 15


def run(command: str, printed: str, url: str) -> None:
    typed = command.replace(URL, url).replace("curl -s", "curl -s --noproxy '*'")
    done = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, timeout=60)
    expected = printed.replace("localhost:8088", url.removeprefix("http://"))
    pattern = ".*".join(map(re.escape, expected.split("…")))
    assert re.fullmatch(pattern, done.stdout.strip(), re.DOTALL), f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.kafka
@pytest.mark.spark
def test_examples(spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    with real_server(fresh_broker, tmp_path / "data", "page_") as server:
        for command, printed in examples():
            run(command, printed, server.url)
        problem = server.backend.engine.fatal()
        assert problem is not None
        assert (problem.code, problem.exit_code) == ("service-terminated", 0)
        topics = Kafka(KafkaConnection(fresh_broker.bootstrap)).topics()
        assert not [t for t in topics if "page_command_log" in t or t == "FARES"]
        assert "rides" in topics
