"""The file of users: a line each, ``name:hash:role,role``. Passwords are kept as hashes of Argon2id only."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.errors import ConfigProblem, shown
from ksqlpy.server.auth.files import NAME, checked_name, checked_roles, replaced, text_of

__all__ = ["SHORTEST", "User", "add_user", "hashed", "remove_user", "users_in", "users_of", "verified"]

SHORTEST = 8
"""Characters of a password, as NIST SP 800-63B has it."""

MEMORY, PASSES = 19_456, 2
"""Argon2id's KiB and passes, in one thread: OWASP's first choice, "Password Storage Cheat Sheet"."""

NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$PjX9iaUDCrx+m8nxvlWfCQ$45kPWsVMQr4GvLGQxF7FrjoG8oaFNFvPteYW0C17xkg"
"""A hash of a password that nobody has, checked where there is no such user: that takes the same time."""


@dataclass(frozen=True)
class User:
    """A line of the file. ``mark``: changes with it, and tells nothing of the hash."""

    name: str
    hash: str
    roles: frozenset[str]

    @property
    def line(self) -> str:
        """As it stands in the file."""
        return f"{self.name}:{self.hash}:{','.join(sorted(self.roles))}"

    @functools.cached_property
    def mark(self) -> str:
        """Tells this line from any other one; nothing follows from it."""
        return hashlib.sha256(self.line.encode()).hexdigest()


def users_in(text: str, file: Path) -> Mapping[str, User]:
    """The users of a file's text, by their names; raises ConfigProblem ``login-file``, which holds no line."""
    found: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.strip().partition(":")
        hash, _, roles = rest.partition(":")
        if not NAME.fullmatch(name) or not hash.startswith("$argon2id$"):
            raise ConfigProblem(
                "login-file",
                f"line {number} of {file} is not name:hash:roles with a hash of Argon2id",
                hint="ksqlpy users add writes such lines",
            )
        if name in found:
            raise ConfigProblem("login-file", f"line {number} of {file} names a user again")
        found[name] = User(name, hash, checked_roles(roles))
    return found


def users_of(file: Path) -> Mapping[str, User]:
    """The users of a file. Raises ConfigProblem ``login-file``."""
    return users_in(text_of(file), file)


def add_user(file: Path, name: str, password: str, roles: frozenset[str]) -> bool:
    """Adds a user, or changes password and roles of one; makes the file. Gives whether it was there.

    Raises ConfigProblem ``login-file``, ``bad-login-name`` and ``bad-password``.
    """
    checked_name(name)
    if len(password) < SHORTEST:
        raise ConfigProblem("bad-password", f"the password has fewer than {SHORTEST} characters", hint="take another")
    user = User(name, hashed(password), roles)
    there = False

    def change(text: str) -> str:
        nonlocal there
        there = name in users_in(text, file)
        lines = [user.line if _is_of(line, name) else line for line in text.splitlines()]
        return "".join(f"{line}\n" for line in (lines if there else [*lines, user.line]))

    replaced(file, change)
    return there


def remove_user(file: Path, name: str) -> None:
    """Removes a user; raises ConfigProblem ``no-such-login`` and ``login-file``."""

    def change(text: str) -> str:
        if name not in users_in(text, file):
            raise ConfigProblem("no-such-login", f"there is no user {shown(name)} in {file}")
        return "".join(f"{line}\n" for line in text.splitlines() if not _is_of(line, name))

    replaced(file, change)


def _is_of(line: str, name: str) -> bool:
    return line.strip().partition(":")[0] == name


def hashed(password: str) -> str:
    """The hash that is kept."""
    from pwdlib.hashers.argon2 import Argon2Hasher  # of commands that need no login it is not asked

    return Argon2Hasher(time_cost=PASSES, memory_cost=MEMORY, parallelism=1).hash(password)


def verified(password: str, hash: str) -> bool:
    """Whether the password is that of the hash. Takes its time; a damaged hash is nobody's."""
    from pwdlib.hashers.argon2 import Argon2Hasher

    try:
        return Argon2Hasher(time_cost=PASSES, memory_cost=MEMORY, parallelism=1).verify(password, hash)
    except Exception:  # argon2's own, for what is no hash
        return False
