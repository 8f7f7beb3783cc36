"""HTTP Basic against the file of users (RFC 7617)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import logging
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path

from ksqlpy.access import Principal
from ksqlpy.errors import KsqlError, shown
from ksqlpy.server.auth.attempts import Attempts
from ksqlpy.server.auth.changes import note_changes
from ksqlpy.server.auth.files import Watched
from ksqlpy.server.auth.session import Limited, Session, refused
from ksqlpy.server.auth.users import NOBODY, User, users_in, verified
from ksqlpy.server.workers import Workers

__all__ = ["KIND", "Basic", "parts"]

KIND = "basic"

_log = logging.getLogger("ksqlpy.server")

WAITING = 16
"""Passwords that wait to be checked; more of them are refused."""
REMEMBERED = 1_000
"""Logins that are known to be right."""
NICE = 10
"""Of the thread that checks: what queries need comes first."""

Verify = Callable[[str, str], bool]


class Basic:
    """One password is checked at a time, each costs some 50 ms of a processor, and a wrong one as much rest again.

    One that was right is known by an HMAC with a key of this process, for as long as the user's line stays as it is.
    Who sends what is just being checked waits for that: a client with many connections at once makes one attempt.
    """

    def __init__(self, file: Path, attempts: Attempts, verify: Verify | None = None) -> None:
        """Reads the file; raises ConfigProblem ``login-file``."""
        nobody: Mapping[str, User] = {}
        self._users = Watched(file, users_in, nobody, _changed)
        self._attempts = attempts
        self._verify = verify or verified
        self._workers = Workers(1, "login")
        self._waiting = 0
        self._key = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, tuple[str, str]] = OrderedDict()
        self._checks: dict[bytes, asyncio.Task[User]] = {}

    def knows(self, credentials: str) -> bool:
        """All of its scheme."""
        return True

    async def enter(self, credentials: str, address: str) -> Session:
        """Who they are of; raises KsqlError 40100 and 42900."""
        key = hmac.digest(self._key, credentials.encode("latin-1"), "sha256")
        users = self._users.value
        if (known := self._known.get(key)) is not None:
            user = users.get(known[0])
            if user is not None and user.mark == known[1]:
                self._known.move_to_end(key)
                return _session(user)
            del self._known[key]
        check = self._checks.get(key)
        if check is None:
            name, password = parts(credentials)
            if wait := self._attempts.begin(address, name):
                raise Limited(wait)
            if self._waiting >= WAITING:
                raise Limited(1)
            # A task of its own: others wait for it, also where this client leaves.
            self._waiting += 1
            check = self._checks[key] = asyncio.create_task(self._enter(key, name, password, address))
            check.add_done_callback(lambda done: self._over(key))
        user = await asyncio.shield(check)
        if not self.holds((KIND, user.name, user.mark)):  # changed meanwhile
            raise _wrong()
        return _session(user)

    def _over(self, key: bytes) -> None:
        self._waiting -= 1
        del self._checks[key]

    async def _enter(self, key: bytes, name: str, password: str, address: str) -> User:
        user = self._users.value.get(name)
        right = await self._workers.run(self._check, password, NOBODY if user is None else user.hash)
        if user is None or not right:
            _log.warning("login refused: user %s from %s: name or password is wrong", shown(name), address)
            raise _wrong()
        self._attempts.succeeded(address, name)
        self._known[key] = user.name, user.mark
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return user

    def holds(self, proof: tuple[str, ...]) -> bool:
        """Whether the user's line is what it was."""
        user = self._users.value.get(proof[1])
        return user is not None and user.mark == proof[2]

    def look(self) -> None:
        """Notices changes of the file."""
        self._users.look()

    def _check(self, password: str, hash: str) -> bool:
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        begun = time.monotonic()
        right = self._verify(password, hash) and hash != NOBODY
        if not right:
            time.sleep(min(1.0, time.monotonic() - begun))
        return right


def _changed(before: Mapping[str, User], now: Mapping[str, User]) -> None:
    marks = {u.name: u.mark for u in before.values()}, {u.name: u.mark for u in now.values()}
    note_changes("USERS", *marks)


def _session(user: User) -> Session:
    return Session(Principal(user.name, user.roles, KIND), (KIND, user.name, user.mark))


def parts(credentials: str) -> tuple[str, str]:
    """Name and password; raises KsqlError 40100."""
    try:
        text = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError) as e:
        raise refused("the header Authorization is not Basic with name:password in Base64 of UTF-8") from e
    name, colon, password = text.partition(":")
    if not colon:
        raise refused("the header Authorization is not Basic with name:password in Base64 of UTF-8")
    return name, password


def _wrong() -> KsqlError:
    return refused("name or password is wrong")
