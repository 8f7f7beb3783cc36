"""What administrators are told: who may log in, and the last lines of the audit log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.audit.last import last_entries
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, shown
from ksqlpy.server.auth.login import TOKENS, USERS
from ksqlpy.server.auth.tokens import last_uses, tokens_of
from ksqlpy.server.auth.users import users_of
from ksqlpy.server.backend import begin
from ksqlpy.server.wire import JSON, KSQL_V1, JsonResponse

__all__ = ["router"]

router = APIRouter()

USUAL, MOST = 100, 1000
"""Lines of the audit log that are told, and that may be asked for."""


@router.get("/logins")
async def logins(request: Request) -> JsonResponse:
    """Users and tokens of the server's files with their roles, for the role admin; no passwords, tokens and hashes."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    backend.engine.require(Need(Right.ADMIN, EVERYTHING))
    return JsonResponse(await backend.call(_logins, backend.engine.config), media_type=media_type)


def _logins(config: Config) -> dict[str, Any]:
    users, tokens = config.get(USERS), config.get(TOKENS)
    return {"users": _users(Path(users)) if users else [], "tokens": _tokens(Path(tokens)) if tokens else []}


def _users(file: Path) -> list[dict[str, Any]]:
    return [{"name": user.name, "roles": sorted(user.roles)} for user in users_of(file).values()]


def _tokens(file: Path) -> list[dict[str, Any]]:
    used = last_uses(file)
    return [
        {
            "id": token.id,
            "name": token.name,
            "roles": sorted(token.roles),
            "made": token.made * 1000,
            "expires": token.expires * 1000 or None,
            "lastUsed": used[token.id] * 1000 if token.id in used else None,
        }
        for token in tokens_of(file)
    ]


@router.get("/audit")
async def audit(request: Request, limit: str = str(USUAL)) -> JsonResponse:
    """The last lines of the audit log, the newest first, for the role admin."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    backend.engine.require(Need(Right.ADMIN, EVERYTHING))
    if not re.fullmatch(r"[1-9][0-9]{0,3}", limit) or int(limit) > MOST:
        hint = "as in ?limit=10"
        raise ConfigProblem(
            "bad-request", f"limit is a number of lines from 1 to {MOST}, not {shown(limit)}", hint=hint
        )
    place, entries = await backend.call(last_entries, backend.engine.config, int(limit))
    return JsonResponse({"place": place, "entries": entries}, media_type=media_type)
