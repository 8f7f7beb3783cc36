"""The log of a process that serves, in the form and with the levels of its properties."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TextIO

from ksqlpy.config import Config
from ksqlpy.logs.form import JsonLines, TextLines
from ksqlpy.logs.kept import KEPT
from ksqlpy.logs.levels import LEVELS, parsed

__all__ = ["begin"]


_own: list[logging.Handler] = []


class _ToError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is when it writes."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def begin(config: Config, file: Path | None = None) -> None:
    """Has what is logged written, to standard error or into a file; may be called again with other properties."""
    root = logging.getLogger()
    for handler in _own:
        root.removeHandler(handler)
        handler.close()
    own = _ToError() if file is None else logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    LEVELS.form = config.get("ksqlpy.log.format")
    own.setFormatter(JsonLines() if LEVELS.form == "json" else TextLines())
    _own[:] = [own]
    root.addHandler(own)
    root.addHandler(KEPT)  # once, however often it is added
    LEVELS.set(parsed(config.get("ksqlpy.log.levels")))
