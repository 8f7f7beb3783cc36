"""What a command that runs queries keeps out of its log."""

from __future__ import annotations

import logging

__all__ = ["without_traces_of_py4j"]


def without_traces_of_py4j() -> None:
    """Py4J logs the failed calls to a JVM that died, with traces, also by the root logger; each is raised, too."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    root = logging.getLogger()
    if _is_of_others not in root.filters:
        root.addFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname
