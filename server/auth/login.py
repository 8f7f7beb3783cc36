"""Which logins a server knows, by its properties, and who comes by a request."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote_plus

from starlette.types import Scope

from ksqlpy.access import EXEMPT, OPEN
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.server.auth.attempts import Attempts
from ksqlpy.server.auth.basic import KIND as BASIC
from ksqlpy.server.auth.basic import Basic, parts
from ksqlpy.server.auth.files import NAME
from ksqlpy.server.auth.jwts import JWKS, Jwts, Rules, keys_of
from ksqlpy.server.auth.jwts import KIND as JWT
from ksqlpy.server.auth.session import Method, Session, refused
from ksqlpy.server.auth.tokens import KIND as TOKEN
from ksqlpy.server.auth.tokens import Tokens
from ksqlpy.server.auth.vouch import taken
from ksqlpy.server.paths import is_page

__all__ = ["SKIPPED", "TOKENS", "USERS", "Login", "is_configured", "tried"]

USERS = "ksqlpy.auth.users.file"
TOKENS = "ksqlpy.auth.tokens.file"
SKIPPED = "authentication.skip.paths"

_FILES = (USERS, TOKENS, JWKS)

_OPEN = Session(OPEN, ("open",))
_EXEMPT = Session(EXEMPT, ("exempt",))

_IN_URL = re.compile(r"(?:^|[&;])(?:access_token|id_token|token|authorization|api_?key|password)=", re.IGNORECASE)
_OWN_TOKEN = re.compile(r"kpy_[A-Za-z0-9_-]{20}")


def is_configured(config: Config) -> bool:
    """Whether a server with these properties asks for a login."""
    return any(config.get(name) for name in _FILES)


class Login:
    """Lets requests in, or raises why not."""

    def __init__(
        self, methods: Mapping[str, tuple[str, Method]], skipped: Iterable[str] = (), secret: str = ""
    ) -> None:
        """``methods``: by the kind of proof, each with its scheme; none: nobody is asked.

        ``secret``: that of this server's readers, whose word is taken; empty: there are none.
        """
        self._secret = secret
        self._methods = methods
        self._schemes: dict[str, list[Method]] = {}
        for scheme, method in methods.values():
            self._schemes.setdefault(scheme, []).append(method)
        patterns = [".*".join(map(re.escape, path.split("*"))) for path in skipped]
        self._skipped = re.compile("|".join(patterns)) if patterns else None

    @classmethod
    def of(cls, config: Config, secret: str = "") -> Login:
        """By the properties of a server; reads their files.

        Raises ConfigProblem ``login-file`` and ``login-incomplete``.
        """
        attempts = Attempts()
        methods: dict[str, tuple[str, Method]] = {}
        if file := config.get(USERS):
            methods[BASIC] = "basic", Basic(Path(file), attempts)
        if file := config.get(TOKENS):
            methods[TOKEN] = "bearer", Tokens(Path(file), attempts)
        if place := config.get(JWKS):
            methods[JWT] = "bearer", Jwts(keys_of(place), Rules.of(config), attempts)
        return cls(methods, filter(None, config.get(SKIPPED).split(",")), secret)

    def look(self) -> None:
        """Notices what has changed in files, also while nobody comes."""
        for _, method in self._methods.values():
            method.look()

    @property
    def challenges(self) -> Sequence[str]:
        """What is asked for, as the header WWW-Authenticate has it."""
        texts = {"basic": 'Basic realm="ksqlpy", charset="UTF-8"', "bearer": 'Bearer realm="ksqlpy"'}
        return [texts[scheme] for scheme in self._schemes]

    async def enter(self, scope: Scope) -> Session:
        """Who sends the request; raises KsqlError 40000, 40100 and 42900."""
        if (session := taken(scope, self._secret)) is not None:
            return session
        if not self._methods:
            return _OPEN
        if self._skipped is not None and self._skipped.fullmatch(scope["path"]):
            return _EXEMPT
        if is_page(scope):
            return _EXEMPT
        _check_url(scope)
        values = [value for name, value in scope["headers"] if name == b"authorization"]
        if not values:
            raise KsqlError(
                "login-required",
                "the server wants to know who you are",
                hint=f"send the header Authorization: {' or '.join(s.capitalize() for s in self._schemes)}",
                error_code=40100,
            )
        if len(values) > 1:
            raise refused("there are several headers Authorization")
        scheme, _, credentials = values[0].decode("latin-1").strip().partition(" ")
        for method in self._schemes.get(scheme.lower(), ()):
            if method.knows(credentials.strip()):
                return await method.enter(credentials.strip(), _address(scope))
        raise refused("the header Authorization holds no login that the server knows")

    @property
    def tokens(self) -> Tokens | None:
        """The API tokens, if there are any."""
        found = self._methods.get(TOKEN)
        return found[1] if found is not None and isinstance(found[1], Tokens) else None

    def holds(self, session: Session) -> bool:
        """Whether one who was let in would be let in now."""
        method = self._methods.get(session.proof[0])
        return method[1].holds(session.proof) if method is not None else session in (_OPEN, _EXEMPT)


def tried(scope: Scope) -> dict[str, str]:
    """The name by which somebody has tried to log in, where there is one that could be a user's."""
    for name, value in scope["headers"]:
        scheme, _, credentials = value.decode("latin-1").strip().partition(" ")
        if name == b"authorization" and scheme.lower() == "basic":
            with contextlib.suppress(KsqlError):
                user = parts(credentials.strip())[0]
                return {"user": user} if NAME.fullmatch(user) else {}
    return {}


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "?"


def _check_url(scope: Scope) -> None:
    """URLs are written into logs and histories: a token there is known to others."""
    query = scope.get("query_string", b"").decode("latin-1")
    if _IN_URL.search(query) or _OWN_TOKEN.search(unquote_plus(query) + scope["path"]):
        raise ConfigProblem(
            "token-in-url",
            "the URL holds a token or a password, and URLs are written into logs",
            hint="send it in the header Authorization, and revoke this one",
        )
