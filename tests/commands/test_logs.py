"""Py4J logs by a logger of its own, and by the root logger."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from ksqlpy.commands import logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    filters, level = list(root.filters), py4j.level
    yield
    root.filters, py4j.level = filters, level


def test_traces_of_py4j_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    logs.without_traces_of_py4j()
    logs.without_traces_of_py4j()
    assert len([f for f in logging.getLogger().filters if f is logs._is_of_others]) == 1
    of_py4j = "raise_it = lambda: logging.exception('Exception while sending command.')"
    made: dict[str, Any] = {"logging": logging}
    exec(compile(of_py4j, "site-packages/py4j/java_gateway.py", "exec"), made)
    made["raise_it"]()
    logging.getLogger("py4j.clientserver").error("Unknown command")
    logging.error("the disk is full")
    assert [r.getMessage() for r in caplog.records] == ["the disk is full"]
