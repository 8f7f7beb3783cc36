"""JSON Web Tokens of an identity provider (RFC 7519, and RFC 8725 for what must be refused)."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.access import Principal
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.server.auth.attempts import Attempts
from ksqlpy.server.auth.files import NAME, checked_roles
from ksqlpy.server.auth.keys import FileKeys, UrlKeys
from ksqlpy.server.auth.session import Limited, Session, refused

if TYPE_CHECKING:
    import jwt

__all__ = ["JWKS", "KIND", "Jwts", "Rules", "keys_of"]

KIND = "jwt"

JWKS = "ksqlpy.auth.jwt.jwks"

_log = logging.getLogger("ksqlpy.server")

REMEMBERED = 1_000
"""Tokens that are known to be right."""

_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}

_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Rules:
    """What a token must say. ``name`` and ``roles``: the claims that hold them, ``a.b`` for one within another."""

    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    leeway: int = 60
    name: str = "sub"
    roles: str = "roles"

    @classmethod
    def of(cls, config: Config) -> Rules:
        """By the properties of a server; raises ConfigProblem ``login-incomplete``."""
        for what in ("issuer", "audience", "algorithms"):
            if not config.get(f"ksqlpy.auth.jwt.{what}"):
                raise ConfigProblem(
                    "login-incomplete",
                    f"{JWKS} is set, but ksqlpy.auth.jwt.{what} is not",
                    hint="issuer, audience and algorithms have no defaults: each says which tokens are not for you",
                )
        return cls(
            config.get("ksqlpy.auth.jwt.issuer"),
            tuple(config.get("ksqlpy.auth.jwt.audience").split(",")),
            tuple(config.get("ksqlpy.auth.jwt.algorithms").split(",")),
            config.number("ksqlpy.auth.jwt.leeway.seconds"),
            config.get("ksqlpy.auth.jwt.name.claim"),
            config.get("ksqlpy.auth.jwt.roles.claim"),
        )


class Jwts:
    """Tokens that a key of the set has signed. One that was right is known by an HMAC until it or its key ends."""

    def __init__(self, keys: FileKeys | UrlKeys, rules: Rules, attempts: Attempts) -> None:
        self._keys = keys
        self._rules = rules
        self._attempts = attempts
        self._secret = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, Session] = OrderedDict()

    def knows(self, credentials: str) -> bool:
        """Three parts with dots between them."""
        return _FORM.fullmatch(credentials) is not None

    async def enter(self, credentials: str, address: str) -> Session:
        """Who it speaks of; raises KsqlError 40100 and 42900."""
        key = hmac.digest(self._secret, credentials.encode("latin-1"), "sha256")
        known = self._known.get(key)
        if known is not None:
            if self.holds(known.proof):
                self._known.move_to_end(key)
                return known
            del self._known[key]
        if wait := self._attempts.begin(address):
            raise Limited(wait)
        try:
            session = await self._checked(credentials)
        except KsqlError as e:
            _log.warning("login refused: a token of an identity provider from %s: %s", address, e.message)
            raise
        self._attempts.succeeded(address)
        self._known[key] = session
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return session

    def holds(self, proof: tuple[str, ...]) -> bool:
        """Whether the token has not expired, and its key is trusted still."""
        return time.time() < int(proof[1]) and self._keys.known(proof[2])

    def look(self) -> None:
        """Keys are looked at when tokens come."""

    async def _checked(self, token: str) -> Session:
        import jwt  # slow to import

        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as e:
            raise refused("the token is no JSON Web Token") from e
        algorithm = header.get("alg")
        if algorithm not in self._rules.algorithms:
            raise refused("the token is signed by an algorithm that is not allowed")
        kid = header.get("kid", "")
        data, every = await self._keys.find(kid)
        if data is None and not kid and len(every) == 1:  # there is no other that it could be
            [(kid, data)] = every.items()
        if data is None:
            raise refused("the token is signed by a key that is not known")
        claims = self._claims(token, _key(data, algorithm))
        until = int(claims["exp"]) + self._rules.leeway
        principal = Principal(_name(claims, self._rules.name), _roles(claims, self._rules.roles), KIND)
        return Session(principal, (KIND, str(until), kid))

    def _claims(self, token: str, key: jwt.PyJWK) -> Mapping[str, Any]:
        import jwt

        rules = self._rules
        try:
            return jwt.decode(
                token,
                key,
                algorithms=list(rules.algorithms),
                audience=list(rules.audience),
                issuer=rules.issuer,
                leeway=rules.leeway,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except jwt.ExpiredSignatureError as e:
            raise refused("the token has expired") from e
        except (jwt.ImmatureSignatureError, jwt.InvalidIssuedAtError) as e:
            raise refused("the token is not valid yet: compare the clocks") from e
        except jwt.InvalidAudienceError as e:
            raise refused("the token is for another audience") from e
        except jwt.InvalidIssuerError as e:
            raise refused("the token is of another issuer") from e
        except jwt.MissingRequiredClaimError as e:
            raise refused(f"the token has no claim {e.claim}") from e
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as e:
            raise refused("the token is not valid") from e


def _key(data: Mapping[str, Any], algorithm: str) -> jwt.PyJWK:
    import jwt

    fits = data.get("kty") == _KINDS[algorithm[:2]] and data.get("alg", algorithm) == algorithm
    if not fits or data.get("crv") != _CURVES.get(algorithm, data.get("crv")):
        raise refused("the token is signed by another algorithm than its key is for")
    try:
        return jwt.PyJWK.from_dict(dict(data), algorithm)
    except (jwt.PyJWTError, ValueError, TypeError) as e:
        raise refused("the key of the token cannot be used") from e


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    if path in claims:  # names may hold dots, as those that are addresses do
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _name(claims: Mapping[str, Any], path: str) -> str:
    name = _claim(claims, path)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise refused(f"the token has no name in its claim {path}")
    return name


def _roles(claims: Mapping[str, Any], path: str) -> frozenset[str]:
    """Those that may be names of roles; a provider has others, too."""
    given = _claim(claims, path)
    names = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
    found: set[str] = set()
    for name in names:
        try:
            found |= checked_roles(name) if isinstance(name, str) else frozenset()
        except ConfigProblem:
            continue
    return frozenset(found)


def keys_of(place: str) -> FileKeys | UrlKeys:
    """The key set of a file or an address; raises ConfigProblem ``login-file``."""
    return UrlKeys(place) if "://" in place else FileKeys(Path(place))
