"""The shell's own files: history and favourites, in the folders that XDG names.

Who cannot write there has a history for this session only.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.errors import ConfigProblem, file_reason

if TYPE_CHECKING:
    from prompt_toolkit.history import History

__all__ = ["Favourites", "history_file", "open_history"]


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default).expanduser() / "ksqlpy"


def history_file() -> Path:
    """``$XDG_STATE_HOME/ksqlpy/history``; by default below ``~/.local/state``."""
    return _folder("XDG_STATE_HOME", ".local/state") / "history"


def open_history() -> History:
    """The history of all sessions, read as it is needed; what begins with a blank is not kept in the file."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class Kept(FileHistory):
        def store_string(self, string: str) -> None:
            if string.strip() and not string.startswith(" "):
                with contextlib.suppress(OSError, UnicodeError):  # a full disk ends no session
                    super().store_string(string)

        def load_history_strings(self) -> Iterable[str]:
            with contextlib.suppress(OSError):
                yield from super().load_history_strings()

    file = history_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return Kept(str(file))


class Favourites:
    """Statements that have a name, in ``$XDG_CONFIG_HOME/ksqlpy/favourites.json``; by default below ``~/.config``."""

    def __init__(self) -> None:
        self.file = _folder("XDG_CONFIG_HOME", ".config") / "favourites.json"

    def all(self) -> dict[str, str]:
        """Names and statements; raises ConfigProblem ``bad-favourites`` for a file of another shape."""
        try:
            data = json.loads(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as e:
            raise ConfigProblem("bad-favourites", f"{self.file} cannot be read: {file_reason(e)}") from e
        if not isinstance(data, dict) or not all(isinstance(v, str) for v in data.values()):
            raise ConfigProblem("bad-favourites", f"{self.file} holds other things than names and statements")
        return data

    def save(self, name: str, sql: str | None) -> None:
        """Keeps a statement, or forgets it (None); raises ConfigProblem ``bad-favourites``."""
        kept = self.all()
        if sql is None:
            kept.pop(name, None)
        else:
            kept[name] = sql
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as e:
            raise ConfigProblem("bad-favourites", f"{self.file} cannot be written: {file_reason(e)}") from e
