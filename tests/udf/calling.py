"""Calls of functions in Python in worker processes, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ksqlpy.types import STRING, SqlType
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import CallFailed, Workers


def function(body: str, gives: SqlType = STRING, takes: Sequence[SqlType] = (), **more: Any) -> Definition:
    parameters = tuple((f"a{i}", t) for i, t in enumerate(takes))
    return Definition("F", "SCALAR", parameters, gives, body, "f", **{"timeout_ms": 20_000, **more})


def failure(workers: Workers, definition: Definition, *arguments: object) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        workers.call(definition, arguments)
    return caught.value
