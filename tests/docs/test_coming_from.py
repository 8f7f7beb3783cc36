"""The pages for those who come from elsewhere: our code on them runs, one page after the other, in one engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ksqlpy
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.docs.pages import ROOT, Piece, pieces
from tests.docs.test_library import SERVER, checked

PAGES = sorted(f"docs/{file.name}" for file in (ROOT / "docs").glob("coming-from-*.md"))
OF_OTHERS = ("python faust", "java")
"""Languages of code that is not ours."""


def test_the_pages() -> None:
    assert [p.partition("coming-from-")[2] for p in PAGES] == ["faust.md", "kafka-streams.md", "ksqldb.md"]
    for page in PAGES:
        kinds = [p.kind for p in pieces(page)]
        assert {*kinds} <= {"python", "sql", "commands", *OF_OTHERS} and {*kinds} & {*OF_OTHERS}, page
        headings = [line for line in (ROOT / page).read_text(encoding="utf-8").split("\n") if line.startswith("## ")]
        assert headings[0] == "## Words"
        assert headings[-3:] == ["## What is the same", "## What differs", "## What is missing"]


@pytest.mark.parametrize("page", PAGES)
def test_python_of_others_is_python(page: str) -> None:
    for piece in pieces(page):
        if piece.kind == "python faust":
            ast.parse(piece.text)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    own = {
        "ksqlpy.warm.up": "false",
        "ksql.service.id": "coming_from_",
        "ksqlpy.functions.python.enabled": "true",
    }
    with ksqlpy.Engine(broker.bootstrap, tmp_path_factory.mktemp("coming") / "data", own) as engine:
        yield engine


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES)
def test_our_code_runs(page: str, engine: ksqlpy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asserted: list[str] = []

    def shown(value: object, text: str) -> None:
        assert repr(value) == text
        asserted.append(text)

    # Pages share an engine: they neither start nor end it.
    monkeypatch.setattr(ksqlpy, "Engine", lambda config=None: engine)
    monkeypatch.setattr(engine, "close", lambda: None)
    names: dict[str, Any] = {"shown": shown}
    blocks = pieces(page)
    with ServerThread(engine._engine) as server:
        for block in blocks:
            run(block, engine, names, server.url)
    assert len(asserted) == sum(b.text.count("  # → ") for b in blocks) > 0


def run(block: Piece, engine: ksqlpy.Engine, names: dict[str, Any], url: str) -> None:
    if block.kind == "sql":
        engine.sql(block.text)
    elif block.kind == "python":
        exec(compile(checked(block.text).replace(SERVER, url), "page", "exec"), names)
