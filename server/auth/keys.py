"""The public keys of an identity provider: a JSON Web Key Set (RFC 7517) of a file or an address."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.server.auth.files import Watched
from ksqlpy.server.workers import Workers

__all__ = ["FileKeys", "KeySet", "UrlKeys", "keys_in"]

_log = logging.getLogger("ksqlpy.server")

LARGEST = 2**20
"""Bytes of a key set."""
SECONDS = 5.0
"""For which the provider may be silent, and twice as long for all of its answer."""
AGAIN = 10.0
"""Seconds between two fetches, however many unknown keys are asked for."""
FRESH = 300.0
"""Seconds after which keys are fetched anew: one that the provider has taken out is then trusted no more."""

KeySet = Mapping[str, Mapping[str, Any]]
"""Keys by their ids; one without an id has an empty one."""

_PUBLIC = ("RSA", "EC", "OKP")


def keys_in(text: str | bytes, place: object) -> KeySet:
    """The public keys of a key set for signatures; raises ConfigProblem ``login-file``."""
    try:
        data = json.loads(text)
        found = {
            str(key.get("kid", "")): key
            for key in data["keys"]
            if key.get("kty") in _PUBLIC and key.get("use", "sig") == "sig" and "d" not in key
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise ConfigProblem("login-file", f"{place} is no JSON Web Key Set") from e
    if not found:
        raise ConfigProblem("login-file", f"{place} holds no public key for signatures")
    return found


class FileKeys:
    """Keys of a file, which is read anew when it changes."""

    def __init__(self, file: Path) -> None:
        """Reads it; raises ConfigProblem ``login-file``."""
        self._watched: Watched[KeySet] = Watched(file, keys_in, {})

    async def find(self, kid: str) -> tuple[Mapping[str, Any] | None, KeySet]:
        """The key of an id, and the whole set."""
        found = self._watched.value
        return found.get(kid), found

    def known(self, kid: str) -> bool:
        """Whether the set has it now."""
        return kid in self._watched.value


Fetch = Callable[[str], bytes]


class UrlKeys:
    """Keys of an address: fetched when they are asked for first, when an id is unknown, and now and then.

    While the provider does not answer, the keys that it gave last are trusted.
    """

    def __init__(self, url: str, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._get = fetch or fetched
        self._clock = clock
        self._keys: KeySet = {}
        self._tried = self._got = -FRESH
        self._workers = Workers(1, "keys")
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str) -> tuple[Mapping[str, Any] | None, KeySet]:
        """The key of an id, and the whole set; asks the provider where it is unknown."""
        now = self._clock()
        if (kid not in self._keys or now - self._got >= FRESH) and now - self._tried >= AGAIN:
            self._tried = now
            self._fetching = asyncio.create_task(self._fetch())
        if kid not in self._keys and self._fetching is not None:
            await asyncio.shield(self._fetching)
        return self._keys.get(kid), self._keys

    def known(self, kid: str) -> bool:
        """Whether the set has it, or nobody has asked for the set yet."""
        return not self._keys or kid in self._keys

    async def _fetch(self) -> None:
        try:
            self._keys = keys_in(await self._workers.run(self._get, self._url), self._url)
            self._got = self._clock()
        except KsqlError as e:
            _log.warning("the keys of the identity provider cannot be had: %s", e.message)
        except Exception:
            _log.exception("the keys of the identity provider cannot be had")


def fetched(url: str) -> bytes:
    """What stands there; raises EngineProblem ``keys-away``."""
    import httpx  # slow to import

    loopback = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    found, end = bytearray(), time.monotonic() + 2 * SECONDS
    try:
        with (
            httpx.Client(timeout=SECONDS, trust_env=not loopback) as client,
            client.stream("GET", url, headers={"Accept": "application/json"}) as response,
        ):
            if response.status_code != 200:
                raise EngineProblem("keys-away", f"{url} answers HTTP status {response.status_code}")
            for part in response.iter_bytes():
                found += part
                if len(found) > LARGEST:
                    raise EngineProblem("keys-away", f"{url} answers with more than {LARGEST} bytes")
                if time.monotonic() > end:
                    raise EngineProblem("keys-away", f"{url} answers for more than {2 * SECONDS:g} s")
    except httpx.HTTPError as e:
        raise EngineProblem("keys-away", f"{url}: {e or type(e).__name__}") from e
    return bytes(found)
