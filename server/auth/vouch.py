"""What a reader process tells the server of a request that it hands on: who sends it, from where.

A reader has asked for the login. Server and readers share a secret that is made at each start and goes through the
readers' standard input; a client cannot know it, and headers of these names that clients send are not handed on.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from typing import Any

from starlette.types import Scope

from ksqlpy.access import Principal
from ksqlpy.server.auth.session import Session

__all__ = ["HEADERS", "taken", "vouched"]

_SECRET, _WHO = b"ksqlpy-vouch", b"ksqlpy-principal"

HEADERS = frozenset({_SECRET, _WHO, b"authorization"})
"""Headers that come from the reader, or have done their work there."""


def vouched(session: Session, scope: Scope, secret: str) -> Sequence[tuple[bytes, bytes]]:
    """The headers that say it."""
    who = session.principal
    said = {
        "name": who.name,
        "roles": sorted(who.roles),
        "how": who.how,
        "proof": session.proof,
        "from": scope.get("client"),
    }
    return [(_SECRET, secret.encode()), (_WHO, json.dumps(said).encode())]


def taken(scope: Scope, secret: str) -> Session | None:
    """Who sends the request, by a reader's word, and where from in the scope; None of what no reader sends."""
    found = {name: value for name, value in scope["headers"] if name in (_SECRET, _WHO)}
    if not secret or not hmac.compare_digest(found.get(_SECRET, b""), secret.encode()):
        return None
    said: dict[str, Any] = json.loads(found[_WHO])
    scope["client"] = tuple(said["from"]) if said["from"] else None
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in HEADERS]
    return Session(Principal(said["name"], frozenset(said["roles"]), said["how"]), tuple(said["proof"]))
