"""Functions in Python: what their workers get of the properties, and their calls without Spark."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

from ksqlpy.atwork import waiting
from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem
from ksqlpy.spark.masters import on_one_machine
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import CallFailed, Settings, Workers

__all__ = ["answered", "for_jvm", "settings_of"]

log = logging.getLogger(__name__)

_NAME = "ksqlpy.functions.python."
_UNITS = {"m": 1 << 20, "g": 1 << 30}


def settings_of(config: Config) -> Settings:
    """Of the workers of this process."""
    memory = config.get(_NAME + "memory")
    return Settings(
        workers=int(config.get(_NAME + "workers")) or Settings().workers,
        memory=int(memory[:-1]) * _UNITS[memory[-1]],
        user=config.get(_NAME + "user"),
        path=tuple(p for p in config.get(_NAME + "path").split(":") if p),
        executable=config.get(_NAME + "executable") or sys.executable,
    )


def for_jvm(config: Config, master: str) -> dict[str, str]:
    """Settings of Spark by which its JVMs know them (``jvm/python/Settings.java``)."""
    executable = config.get(_NAME + "executable") or (sys.executable if on_one_machine(master) else "")
    settings = {
        "workers": config.get(_NAME + "workers"),
        "memory": str(settings_of(config).memory),
        "user": config.get(_NAME + "user"),
        "path": config.get(_NAME + "path"),
        "executable": executable,
    }
    return {f"spark.{_NAME}{name}": value for name, value in settings.items() if value}


def answered(workers: Workers, definition: Definition, arguments: Sequence[Any]) -> Any:
    """What a call gives; null where it fails. Raises EngineProblem ``function-failed`` where ON_ERROR is 'stop'."""
    try:
        with waiting():  # others make their rows meanwhile
            return workers.call(definition, arguments)
    except CallFailed as e:
        if definition.on_error == "stop":
            problem = EngineProblem("function-failed", f"function {definition.name}: {e}")
            problem.add_note(e.traceback)
            raise problem from None
        if (more := workers.seldom.more(definition.name, e.kind)) is not None:
            said = f" ({more:,} more since the last entry)" if more else ""
            log.warning("function %s: %s%s\n%s", definition.name, e, said, e.traceback)
        return None
