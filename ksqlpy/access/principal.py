"""Who sends a request."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXEMPT", "OPEN", "Principal"]


@dataclass(frozen=True)
class Principal:
    """Somebody who was let in.

    ``name``: as the login has it, empty where nobody was asked; ``roles``: the names of the roles that the login gives;
    ``how``: ``basic``, ``token``, ``jwt``, ``open`` (the server asks nobody) or ``exempt`` (nobody is asked for the
    path). Equal names of different logins are different people.
    """

    name: str
    roles: frozenset[str] = frozenset()
    how: str = "open"


OPEN = Principal("", frozenset({"admin"}))
"""Everybody, where the server asks nobody for a login."""

EXEMPT = Principal("", how="exempt")
"""Everybody on paths for which nobody is asked."""
