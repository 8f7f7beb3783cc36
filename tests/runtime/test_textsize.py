"""A request with too much text is refused before it is read."""

from __future__ import annotations

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import SyntaxProblem
from ksqlpy.runtime import Engine
from ksqlpy.runtime.textsize import check_size

SMALL = Config.of({"ksqlpy.statements.max.bytes": "1000"})


@pytest.mark.parametrize(
    ("sql", "refused"), [("x" * 1_000, False), ("x" * 1_001, True), ("é" * 500, False), ("é" * 501, True)]
)
def test_bytes_are_counted(sql: str, refused: bool) -> None:
    if not refused:
        check_size(sql, SMALL)
        return
    with pytest.raises(SyntaxProblem, match="more than 1,000 bytes") as caught:
        check_size(sql, SMALL)
    assert caught.value.code == "text-too-long"
    assert "ksqlpy.statements.max.bytes" in (caught.value.hint or "")


def test_half_a_character_is_no_traceback() -> None:
    check_size("'\ud800'", SMALL)


def test_an_engine_reads_a_mebibyte() -> None:
    engine = Engine(Config.of({}))
    with pytest.raises(SyntaxProblem, match="more than 1,048,576 bytes"):
        engine.execute("/*" * 600_000)
    with pytest.raises(SyntaxProblem, match="never ends"):
        engine.execute("/*" * 500_000)
