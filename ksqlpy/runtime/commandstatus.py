"""What became of commands: those of this engine's life, and those of which the command log tells.

A command is logged when it is done, so none of them is in another state than SUCCESS. Source of the rules: ksqlDB,
"Get the status of a command".
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ksqlpy.runtime.commandlog import Entry

__all__ = ["CommandStatuses"]

MOST = 10_000
"""Commands of which it is known; the oldest ones are forgotten."""


class CommandStatuses:
    """The last status of each command, by its id, as ``stream/`RIDES`/create``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}

    def note(self, command_id: str, status: Mapping[str, Any]) -> None:
        """Keeps what became of a command; of two with the same id the later one counts."""
        with self._lock:
            self._known.pop(command_id, None)
            self._known[command_id] = dict(status)
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]

    def of_log(self, entries: Iterable[Entry]) -> None:
        """Keeps what entries of the command log say; others than these say nothing."""
        kinds: dict[str, str] = {}
        for entry in entries:
            try:
                found = _told(json.loads(entry.value or b"null"), kinds)
            except (ValueError, TypeError, KeyError, AttributeError):  # an odd entry, which the start reports
                continue
            if found is not None:
                command_id, message, query_id = found
                self.note(command_id, {"status": "SUCCESS", "message": message, "queryId": query_id})

    def all(self) -> dict[str, str]:
        """The states of all commands."""
        with self._lock:
            return {command_id: str(status["status"]) for command_id, status in self._known.items()}

    def one(
        self, kind: str, entity: str, action: str, sees: Callable[[str], bool] = lambda name: True
    ) -> dict[str, Any] | None:
        """The status of a command, None if there is none; the name need not stand in backquotes.

        ``sees``: whether somebody who asks sees what has this name; else there is none for him.
        """
        with self._lock:
            for name in (entity, f"`{entity}`", f"`{entity.upper()}`", entity.upper()):
                found = self._known.get(f"{kind.lower()}/{name}/{action.lower()}")
                if found is not None and sees(name.strip("`")):
                    return found
        return None


_VERBS = {"terminate": "Query terminated.", "pause": "Query paused.", "resume": "Query resumed."}


def _told(data: Mapping[str, Any], kinds: dict[str, str]) -> tuple[str, str, str | None] | None:
    """Id, message and query of the command of an entry; ``kinds``: whether a name is a stream or a table."""
    op = data["op"]
    if op == "create":
        name, kind = data["source"]["name"], str(data["source"]["kind"]).lower()
        query = data.get("query")
        action, kinds[name] = ("alter" if name in kinds else "create"), kind
        if query is not None:
            return f"{kind}/`{name}`/create", f"Created query with ID {query['id']}", query["id"]
        return f"{kind}/`{name}`/{action}", f"{kind.capitalize()} {action.removesuffix('e')}ed", None
    if op == "insert":
        query_id = data["query"]["id"]
        return f"stream/`{data['query']['sink']}`/create", f"Created query with ID {query_id}", query_id
    if op == "drop":
        name = data["source"]
        kind = kinds.pop(name, "stream")
        return f"{kind}/`{name}`/drop", f"Source `{name}` was dropped.", None
    if op in ("type", "drop-type"):
        verb = "create" if op == "type" else "drop"
        done = "Registered custom type" if op == "type" else "Dropped type"
        return f"type/`{data['name']}`/{verb}", f"{done} '{data['name']}'", None
    if op in _VERBS:
        return f"{op}/{data['query']}/execute", _VERBS[op], data["query"]
    return None
