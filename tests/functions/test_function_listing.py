"""The list of functions as data is the registry."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ksqlpy.functions import FUNCTIONS
from ksqlpy.functions.listing import listing, main

WRITTEN = Path(__file__).parents[2] / "grammar" / "functions.toml"


def test_listing_is_not_stale() -> None:
    assert WRITTEN.read_text(encoding="utf-8") == listing(), "run python -m ksqlpy.functions.listing"


def test_listing_is_toml_of_all_functions(tmp_path: Path) -> None:
    target = tmp_path / "functions.toml"
    main([str(target)])
    functions = tomllib.loads(target.read_text(encoding="utf-8"))["function"]
    assert [f["name"] for f in functions] == list(FUNCTIONS.functions)
    for f in functions:
        assert set(f) == {"name", "kind", "category", "help", "example", "signatures"}
        assert f["signatures"]
