"""The properties of functions in Python, as workers of this process and of Spark's JVMs get them."""

from __future__ import annotations

import sys

from ksqlpy.config import Config
from ksqlpy.spark.masters import on_one_machine
from ksqlpy.udfs.pool import Settings

__all__ = ["for_jvm", "settings_of"]

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
