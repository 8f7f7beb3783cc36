"""Users and tokens that come and go while a server runs, as its log and the audit log tell of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ksqlpy.audit import AUDIT, Decision, Outcome

__all__ = ["note_changes"]

_log = logging.getLogger("ksqlpy.server")


def note_changes(kind: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Notes which names are new, gone, or stand for something else; nothing of the values, which may be secret."""
    said = {
        "added": sorted(now.keys() - before.keys()),
        "removed": sorted(before.keys() - now.keys()),
        "changed": sorted(name for name in now.keys() & before.keys() if now[name] != before[name]),
    }
    said = {how: names for how, names in said.items() if names}
    if not said:
        return
    _log.info("%s: %s", kind.lower(), "; ".join(f"{how} {', '.join(names)}" for how, names in said.items()))
    if (audit := AUDIT.get()) is not None:
        # Whose request it was noticed by does not matter: somebody has changed the file.
        audit.note(Decision(kind, Outcome.ALLOWED, more=said, principal=None, request=None))
