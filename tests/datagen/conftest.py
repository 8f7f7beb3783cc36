"""Sources from statements, without a server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksqlpy.catalog import Source
from ksqlpy.local.sources import Declared


@pytest.fixture
def declare() -> Callable[[str], Source]:
    def declare(columns: str, properties: str = "") -> Source:
        declared = Declared()
        kind = "TABLE" if "PRIMARY KEY" in columns else "STREAM"
        declared.take(f"CREATE {kind} s ({columns}) WITH (kafka_topic='s', value_format='JSON'{properties});")
        return declared.source("s")

    return declare
