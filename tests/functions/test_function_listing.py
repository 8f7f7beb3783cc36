"""The list of functions as data is the registry."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ksqlpy.functions import FUNCTIONS
from ksqlpy.functions.listing import DEFAULT, listing, main, manual


def test_listing_is_not_stale() -> None:
    assert (DEFAULT / "functions.toml").read_text(encoding="utf-8") == listing(), "run make grammar"
    assert (DEFAULT / "functions.md").read_text(encoding="utf-8") == manual(), "run make grammar"


def test_the_manual_has_a_row_for_every_function() -> None:
    rows = [line for line in manual().splitlines() if line.startswith("| **")]
    assert {row.split("**")[1] for row in rows} == set(FUNCTIONS.functions)
    assert len(rows) == len(FUNCTIONS.functions)
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)


def test_listing_is_toml_of_all_functions(tmp_path: Path) -> None:
    main([str(tmp_path)])
    functions = tomllib.loads((tmp_path / "functions.toml").read_text(encoding="utf-8"))["function"]
    assert [f["name"] for f in functions] == list(FUNCTIONS.functions)
    for f in functions:
        assert set(f) == {"name", "kind", "category", "help", "example", "signatures"}
        assert f["signatures"]
