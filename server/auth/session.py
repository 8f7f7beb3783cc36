"""What a login comes to: who it is, and whether that still holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ksqlpy.access import Principal
from ksqlpy.errors import KsqlError

__all__ = ["Limited", "Method", "Session", "refused"]


@dataclass(frozen=True)
class Session:
    """Somebody who was let in. ``proof``: by what, as any process with the same files can look up; it is no secret."""

    principal: Principal
    proof: tuple[str, ...]


class Method(Protocol):
    """A kind of login."""

    def knows(self, credentials: str) -> bool:
        """Whether the credentials, of its scheme, are of this kind."""
        ...

    async def enter(self, credentials: str, address: str) -> Session:
        """Who they are of; raises KsqlError 40100 and 42900."""
        ...

    def holds(self, proof: tuple[str, ...]) -> bool:
        """Whether one who was let in by this would be let in now."""
        ...

    def look(self) -> None:
        """Notices what has changed since."""
        ...


def refused(why: str, hint: str | None = None) -> KsqlError:
    """A login that is wrong."""
    return KsqlError("login-refused", why, hint=hint, error_code=40100)


class Limited(KsqlError):
    """A login that may not be tried now, but in some seconds."""

    def __init__(self, seconds: int) -> None:
        super().__init__("login-limited", f"too many attempts to log in: try again in {seconds} s", error_code=42900)
        self.seconds = seconds
