"""API tokens: 256 random bits, of which a file keeps a hash, with name, roles, expiry and last use.

A line each: ``id:hash:name:role,role:made:expires``, times in seconds since 1970, 0 for no expiry. Last uses stand in
a file beside it, which servers write now and then.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.access import Principal
from ksqlpy.errors import ConfigProblem, KsqlError, shown
from ksqlpy.server.auth.attempts import Attempts
from ksqlpy.server.auth.changes import note_changes
from ksqlpy.server.auth.files import NAME, Watched, checked_name, checked_roles, replaced, text_of
from ksqlpy.server.auth.session import Limited, Session, refused

__all__ = ["KIND", "PREFIX", "Token", "Tokens", "create_token", "last_uses", "revoke_token", "tokens_of"]

KIND = "token"
PREFIX = "kpy_"

NOTED = 60.0
"""Seconds between two notes of last uses."""

_log = logging.getLogger("ksqlpy.server")

_LINE = re.compile(r"([a-z0-9]{8}):([0-9a-f]{64}):([^:]+):([^:]*):(\d{1,15}):(\d{1,15})")


@dataclass(frozen=True)
class Token:
    """A line of the file."""

    id: str
    hash: str
    name: str
    roles: frozenset[str]
    made: int
    expires: int

    @property
    def line(self) -> str:
        """As it stands in the file."""
        roles = ",".join(sorted(self.roles))
        return f"{self.id}:{self.hash}:{self.name}:{roles}:{self.made}:{self.expires}"

    def over(self, now: float) -> bool:
        """Whether it has expired."""
        return 0 < self.expires <= now


def tokens_in(text: str, file: Path) -> Mapping[str, Token]:
    """The tokens of a file's text, by their hashes; raises ConfigProblem ``login-file``."""
    found: dict[str, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = _LINE.fullmatch(line.strip())
        if parts is None or not NAME.fullmatch(parts[3]):
            raise ConfigProblem(
                "login-file",
                f"line {number} of {file} is not id:hash:name:roles:made:expires",
                hint="ksqlpy tokens create writes such lines",
            )
        id, hash, name, roles, made, expires = parts.groups()
        found[hash] = Token(id, hash, name, checked_roles(roles), int(made), int(expires))
    return found


def tokens_of(file: Path) -> list[Token]:
    """The tokens of a file. Raises ConfigProblem ``login-file``."""
    return list(tokens_in(text_of(file), file).values())


def create_token(file: Path, name: str, roles: frozenset[str], expires: int) -> str:
    """Makes a token and gives it; the file keeps its hash. ``expires``: seconds since 1970, 0: never.

    Raises ConfigProblem ``login-file`` and ``bad-login-name``.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    token = Token(secrets.token_hex(4), _hash(text), checked_name(name), roles, int(time.time()), expires)

    def change(before: str) -> str:
        tokens_in(before, file)
        return f"{before.rstrip()}\n{token.line}\n".lstrip("\n")

    replaced(file, change)
    return text


def revoke_token(file: Path, id: str) -> Token:
    """Takes a token out of the file; raises ConfigProblem ``no-such-login`` and ``login-file``."""
    found: list[Token] = []

    def change(text: str) -> str:
        found[:] = [t for t in tokens_in(text, file).values() if t.id == id]
        if not found:
            raise ConfigProblem("no-such-login", f"there is no token {shown(id)} in {file}")
        return "".join(f"{line}\n" for line in text.splitlines() if line.strip() != found[0].line)

    replaced(file, change)
    return found[0]


def _hash(text: str) -> str:
    # Plain: 256 random bits cannot be guessed, however fast the hash is.
    return hashlib.sha256(text.encode("latin-1")).hexdigest()


def _used(file: Path) -> Path:
    return file.with_name(f"{file.name}.used")


def last_uses(file: Path) -> Mapping[str, int]:
    """When tokens were used last, by their ids, to the minute; of those that were not, nothing."""
    try:
        found = json.loads(_used(file).read_text(encoding="utf-8"))
        return {str(k): int(v) for k, v in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _changed(before: Mapping[str, Token], now: Mapping[str, Token]) -> None:
    lines = ({f"{t.name} ({t.id})": t.line for t in tokens.values()} for tokens in (before, now))
    note_changes("TOKENS", *lines)


class Tokens:
    """Tokens as a login: a lookup of a hash."""

    def __init__(self, file: Path, attempts: Attempts, clock: Callable[[], float] = time.time) -> None:
        """Reads the file; raises ConfigProblem ``login-file``."""
        nothing: Mapping[str, Token] = {}
        self._file = file
        self._tokens = Watched(file, tokens_in, nothing, _changed)
        self._attempts = attempts
        self._clock = clock
        self._last: dict[str, int] = {}
        self._noted = 0.0
        self._may_note = True

    def knows(self, credentials: str) -> bool:
        """Those that begin as ours do."""
        return credentials.startswith(PREFIX)

    async def enter(self, credentials: str, address: str) -> Session:
        """Whose it is; raises KsqlError 40100 and 42900."""
        token = self._tokens.value.get(_hash(credentials))
        now = self._clock()
        if token is None or token.over(now):
            if wait := self._attempts.begin(address):
                raise Limited(wait)
            why = "it is not known, or revoked" if token is None else f"token {token.id} has expired"
            _log.warning("login refused: a token from %s: %s", address, why)
            raise refused("the token is not known" if token is None else "the token has expired")
        self._last[token.id] = int(now)
        return Session(Principal(token.name, token.roles, KIND), (KIND, token.hash))

    def holds(self, proof: tuple[str, ...]) -> bool:
        """Whether the file has the token still, and it has not expired."""
        token = self._tokens.value.get(proof[1])
        return token is not None and not token.over(self._clock())

    def look(self) -> None:
        """Notices changes of the file."""
        self._tokens.look()

    @property
    def unnoted(self) -> bool:
        """Whether it is time for :meth:`note`."""
        return self._may_note and bool(self._last) and self._clock() - self._noted >= NOTED

    def note(self) -> None:
        """Writes down the last uses; blocks. Several processes may do so."""
        self._noted, last = self._clock(), self._last
        self._last = {}
        known = {t.id for t in self._tokens.value.values()}

        def change(text: str) -> str:
            before = last_uses(self._file)
            both = {id: max(last.get(id, 0), before.get(id, 0)) for id in (*before, *last)}
            return json.dumps({id: at for id, at in sorted(both.items()) if id in known})

        try:
            replaced(_used(self._file), change)
        except KsqlError as e:
            self._may_note = False
            _log.warning("last uses of tokens are not noted: %s", e.message)
