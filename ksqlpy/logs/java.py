"""Settings of Log4j for a JVM that ksqlpy starts: the same form of lines, and the levels of the property.

A JVM looks at the file of settings every some seconds, so that a change reaches each of them, also one that is started
later.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from ksqlpy.logs.levels import LEVELS

__all__ = ["LOOK", "keep_java_settings", "settings_text"]

LOOK = 2
"""Seconds between two looks at the file of settings."""

# The thread of a query of Spark has the query's name in its own.
_THREAD = "^stream execution thread for (\\S+).*$"
_OTHER = "^(?!stream execution thread for ).*$"


def _query(thread: str, before: str, behind: str) -> str:
    """The query of the thread with texts around it; nothing for other threads."""
    found = f"%replace{{{thread}}}{{{_OTHER}}}{{}}"
    return f"%replace{{{found}}}{{{_THREAD}}}{{{before}$1{behind}}}"


# As in Python, lines that go on are indented.
_TEXT = (
    f"%d{{yyyy-MM-dd HH:mm:ss,SSS}} %p %c{_query('%t', ' [query ', ']')}: %replace{{%m}}{{\n}}{{\n    }}%n"
    "%notEmpty{    %replace{%ex}{\n(?=.)}{\n    }}"
)

_JSON = (
    '{"time":"%d{yyyy-MM-dd\'T\'HH:mm:ss.SSS}{UTC}Z","level":"%p","logger":"%enc{%c}{JSON}",'
    + _query("%enc{%t}{JSON}", '"query":"', '",')
    + '"thread":"%enc{%t}{JSON}",%notEmpty{"trace":"%enc{%xEx}{JSON}",}"message":"%enc{%m}{JSON}"}%n'
)

_HEAD = """\
status = off
monitorInterval = {look}
rootLogger.level = {root}
rootLogger.appenderRef.own.ref = own
appender.own.name = own
appender.own.layout.type = PatternLayout
appender.own.layout.pattern = {pattern}
"""

_FILE = """\
appender.own.type = RollingFile
appender.own.fileName = {file}
appender.own.filePattern = {file}.%i
appender.own.policies.type = SizeBasedTriggeringPolicy
appender.own.policies.size = 10MB
appender.own.strategy.type = DefaultRolloverStrategy
appender.own.strategy.max = 2
"""

_BROKER = {
    "root": "INFO",
    # At info these print every setting, a thousand lines a start.
    "kafka.server.KafkaConfig": "WARN",
    "org.apache.kafka.common.config.AbstractConfig": "WARN",
    "org.apache.kafka.clients": "WARN",
}
"""Levels of a broker. That of ``root`` stays: at DEBUG a broker writes more than it is sent."""

_kept: dict[Path, Path | None] = {}
_writing = threading.Lock()


def keep_java_settings(settings: Path, log: Path | None = None) -> None:
    """Writes the file of settings, and again when levels change.

    ``log``: the file that the JVM logs into; None: a broker, which logs to its output.
    """
    with _writing:
        _kept[settings] = log
        _write(settings, log, LEVELS.now)


def settings_text(log: Path | None, form: str, named: Mapping[str, str]) -> str:
    """The text of ``log4j2.properties``; see :func:`keep_java_settings`. ``form``: text or json."""
    levels = {"root": "WARN", **named}
    if log is None:
        levels = {**_BROKER, **{name: level for name, level in named.items() if name != "root"}}
    pattern = (_JSON if form == "json" else _TEXT).replace("\\", "\\\\").replace("\n", "\\n")
    text = _HEAD.format(pattern=pattern, look=LOOK, root=levels.pop("root").lower())
    text += _FILE.format(file=log) if log is not None else "appender.own.type = Console\n"
    for number, (name, level) in enumerate(sorted(levels.items())):
        text += f"logger.l{number}.name = {name}\nlogger.l{number}.level = {level.lower()}\n"
    return text


def _write(settings: Path, log: Path | None, named: Mapping[str, str]) -> None:
    new = settings.with_name(f".{settings.name}.new")
    new.write_text(settings_text(log, LEVELS.form, named), encoding="utf-8")
    os.replace(new, settings)  # a JVM may be reading it


def _changed(named: Mapping[str, str]) -> None:
    with _writing:
        for settings, log in list(_kept.items()):
            try:
                _write(settings, log, named)
            except OSError:  # its folder is gone, and the JVM with it
                del _kept[settings]


LEVELS.tell(_changed)
