"""Lines of the log: time, level, logger, for which request or query and for whom, message."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

from ksqlpy.access import ASKS
from ksqlpy.request import QUERY, REQUEST

__all__ = ["JsonLines", "TextLines", "level_name"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def level_name(level: int) -> str:
    """The level by its name in Java."""
    name = logging.getLevelName(level)
    return {"WARNING": "WARN", "CRITICAL": "FATAL"}.get(name, name)


class TextLines(logging.Formatter):
    """For people. What goes on in further lines is indented, so that a message cannot look like another line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created)
        request, query, who = REQUEST.get(), QUERY.get(), ASKS.get()
        parts = [f"request {request.id}"] if request is not None else []
        parts += [f"query {query}"] if query else []
        parts += [f"by {who.name}"] if who is not None and who.name else []
        # Names of an identity provider may hold anything.
        context = "".join(c if c.isprintable() else "?" for c in f" [{', '.join(parts)}]") if parts else ""
        text = record.getMessage()
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        text = "\n".join(filter(None, (text, record.exc_text)))
        text = _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", text).replace("\n", "\n    ")
        time = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}"
        return f"{time} {level_name(record.levelno)} {record.name}{context}: {text}"


class JsonLines(logging.Formatter):
    """For programs: a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC)
        request, query, who = REQUEST.get(), QUERY.get(), ASKS.get()
        said = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": level_name(record.levelno),
            "logger": record.name,
            "request": request.id if request is not None else None,
            "query": query or None,
            "principal": who.name if who is not None and who.name else None,
            "thread": record.threadName,
            "message": record.getMessage(),
            "trace": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})
