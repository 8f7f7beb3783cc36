"""A client of the schema registry: the latest schema of a subject, a schema by its id, a schema made known."""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ksqlpy.atwork import waiting
from ksqlpy.connection.tls import Tls, tls_of
from ksqlpy.errors import AnalysisProblem, ConfigProblem, EngineProblem

if TYPE_CHECKING:
    import httpx

__all__ = ["PLAIN", "Registered", "SchemaRegistry"]

TIMEOUT = 5.0
"""Seconds for which one address is waited for."""

LARGEST = 8 * 2**20
"""Bytes of an answer; a schema of more is none."""

_SECONDS = 20.0
"""Seconds that a whole answer may take."""

_MOST_REFERENCES = 1_000

PLAIN = "AVRO"
"""The kind of a schema without ``schemaType``."""

_MEDIA = "application/vnd.schemaregistry.v1+json"
_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA = 40401, 40402, 40403
_INCOMPATIBLE, _INVALID = 409, 42201
_MOST_LEVELS = 32


@dataclass(frozen=True)
class Registered:
    """A schema as the registry has it; ``kind``: AVRO, PROTOBUF or JSON.

    ``references``: the texts of the schemas that it refers to, by name, each behind those that it refers to itself.
    """

    id: int
    text: str
    kind: str = PLAIN
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Answer:
    status: int
    data: Any

    @property
    def code(self) -> int:
        found = self.data.get("error_code") if isinstance(self.data, dict) else None
        return found if isinstance(found, int) else self.status

    @property
    def reason(self) -> str:
        found = self.data.get("message") if isinstance(self.data, dict) else None
        return str(found) if found else f"HTTP status {self.status}"


class SchemaRegistry:
    """A registry at one of several addresses, which are asked in their order until one answers.

    ``login``: user and password with a colon between them, ``token``: a bearer token; empty for none. ``tls``: of
    addresses with https. Its methods raise EngineProblem ``registry-away`` where no address answers, and
    ``registry-refused`` where the registry refuses what is asked.
    """

    def __init__(self, urls: Sequence[str], login: str = "", token: str = "", tls: Tls | None = None) -> None:
        self.urls = tuple(u.rstrip("/") for u in urls)
        self.tls = tls or Tls()
        self._login = login
        self._token = token
        self._kept: dict[int, Registered] | None = None

    def remembering(self) -> SchemaRegistry:
        """The same registry, for a short use: it is asked for the schema of an id once."""
        found = SchemaRegistry(self.urls, self._login, self._token, self.tls)
        found._kept = {}
        return found

    @classmethod
    def of(
        cls, urls: str, source: str, login: str, token: str = "", tls: Mapping[str, str] | None = None
    ) -> SchemaRegistry | None:
        """The registry of the server's properties; None where no address is set.

        ``source``: where the login comes from, USER_INFO (``login``) or URL (in front of the host). ``tls``: settings
        by their names in Java, as :func:`~ksqlpy.connection.tls.tls_of` takes them; it reads the files that they name.
        Raises ConfigProblem ``invalid-property`` and ``security-setting``, neither of which holds a secret.
        """
        found = [u.strip() for u in urls.split(",") if u.strip()]
        if not found:
            return None
        plain, logins = [], []
        for url in found:
            try:
                parts = urllib.parse.urlsplit(url)
                port = parts.port
            except ValueError:
                parts, port = urllib.parse.urlsplit(""), None
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigProblem(
                    "invalid-property", "ksql.schema.registry.url must be addresses such as http://registry:8081"
                )
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            plain.append(f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}")
            if parts.username is not None:
                name, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
                logins.append(f"{name}:{password}")
        if token and (login or logins):
            raise ConfigProblem("invalid-property", "ksql.schema.registry has a login and a bearer token")
        prefix = "ksql.schema.registry."
        tls = {n: v for n, v in (tls or {}).items() if v or n.endswith(".algorithm")}  # where empty means something
        if tls and not any(url.startswith("https:") for url in plain):
            raise ConfigProblem(
                "security-setting",
                f"{prefix}{min(tls)} is set, but no address of {prefix}url begins with https: there would be no TLS",
                hint=f"write the addresses of {prefix}url with https",
            )
        secured = tls_of(tls, prefix)
        if source == "URL":
            return cls(plain, logins[0] if logins else "", token, secured)
        if logins:
            raise ConfigProblem(
                "invalid-property",
                "ksql.schema.registry.url holds a login",
                hint="set ksql.schema.registry.basic.auth.user.info, or basic.auth.credentials.source = URL",
            )
        if login and ":" not in login:
            raise ConfigProblem("invalid-property", "ksql.schema.registry.basic.auth.user.info must be user:password")
        return cls(plain, login, token, secured)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request, with the login in them."""
        found = {"Accept": f"{_MEDIA}, application/json", "Content-Type": _MEDIA}
        if self._token:
            found["Authorization"] = f"Bearer {self._token}"
        elif self._login:
            found["Authorization"] = f"Basic {base64.b64encode(self._login.encode()).decode()}"
        return found

    # ------------------------------------------------------------ what is asked

    def latest(self, subject: str) -> Registered | None:
        """The latest schema of the subject, None if there is no such subject."""
        answer = self._ask("GET", f"/subjects/{_quoted(subject)}/versions/latest")
        if answer.code in (_NO_SUBJECT, _NO_VERSION):
            return None
        return self._registered(self._checked(answer, f"the schema of {subject}"))

    def schema(self, number: int) -> Registered | None:
        """The schema of an id, None if there is none."""
        if self._kept and number in self._kept:
            return self._kept[number]
        answer = self._ask("GET", f"/schemas/ids/{number}")
        if answer.code == _NO_SCHEMA:
            return None
        data = self._checked(answer, f"the schema {number}")
        if not isinstance(data, dict):
            raise _odd("it describes no schema")
        found = self._registered({**data, "id": number})
        if self._kept is not None:
            self._kept[number] = found
        return found

    def subjects(self, number: int) -> tuple[str, ...]:
        """The subjects that have a schema of this id, none if there is no such schema."""
        answer = self._ask("GET", f"/schemas/ids/{number}/subjects")
        if answer.code == _NO_SCHEMA:
            return ()
        return tuple(map(str, self._checked(answer, f"the subjects of schema {number}")))

    def find(self, subject: str, schema: str, kind: str = PLAIN) -> int | None:
        """The id of a schema that the subject has, in any of its versions; None if it has not."""
        answer = self._ask("POST", f"/subjects/{_quoted(subject)}", _body(schema, kind))
        if answer.code in (_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA):
            return None
        return _id(self._checked(answer, f"a schema of {subject}"))

    def register(self, subject: str, schema: str, kind: str = PLAIN) -> int:
        """Makes the schema the subject's latest, if it is not known there; gives its id.

        Raises AnalysisProblem ``incompatible-schema`` where records written by it could not be read by those who read
        the subject, with the registry's reason.
        """
        answer = self._ask("POST", f"/subjects/{_quoted(subject)}/versions", _body(schema, kind))
        if answer.status == _INCOMPATIBLE or answer.code == _INCOMPATIBLE:
            raise AnalysisProblem(
                "incompatible-schema",
                f"the schema registry refuses the schema for subject {subject}: {answer.reason}",
                hint="write into another topic, or change the columns or the compatibility of the subject",
            )
        return _id(self._checked(answer, f"the schema for subject {subject}"))

    # ------------------------------------------------------------ HTTP

    def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> _Answer:
        import httpx  # slow to import, and not needed without a registry

        failed = []
        hint = "check ksql.schema.registry.url, and that the registry runs"
        content = None if body is None else json.dumps(body).encode()
        with waiting(), httpx.Client(timeout=TIMEOUT, headers=self.headers, verify=self.tls.context or True) as client:
            for url in self.urls:
                try:
                    with client.stream(method, url + path, content=content) as response:
                        body_read = _read(response)
                except _TooMuch as e:
                    failed.append(f"{url}: {e}")
                    continue
                except httpx.HTTPError as e:
                    why = str(e) or type(e).__name__
                    if (refused := _of_tls(e)) is not None:
                        why = f"no connection by TLS: {refused}"
                        hint = "check the settings ksql.schema.registry.ssl, see docs/security.md"
                    failed.append(f"{url}: {why}")
                    continue
                if response.status_code >= 500 or response.status_code == 429:
                    failed.append(f"{url}: HTTP status {response.status_code}")
                    continue
                try:
                    data = json.loads(body_read)
                except (ValueError, RecursionError):
                    data = None
                if response.is_success and not isinstance(data, dict | list):
                    failed.append(f"{url}: the answer is not the JSON of a schema registry")
                    continue
                return _Answer(response.status_code, data)
        raise EngineProblem(
            "registry-away",
            f"the schema registry does not answer: {'; '.join(failed)}",
            hint=hint,
        )

    @staticmethod
    def _checked(answer: _Answer, what: str) -> Any:
        if answer.status >= 400:
            login = answer.status in (401, 403)
            raise EngineProblem(
                "registry-refused",
                f"the schema registry refuses {what}: {answer.reason}",
                hint="set ksql.schema.registry.basic.auth.user.info" if login else None,
                error_code=40001,
            )
        return answer.data

    def _registered(self, data: Mapping[str, Any]) -> Registered:
        references: dict[str, str] = {}
        try:
            self._refer(data, references, 0)
            kind, text = str(data.get("schemaType", PLAIN)), str(data["schema"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
            raise _odd("it describes no schema") from e
        return Registered(_id(data), text, kind, tuple(references.items()))

    def _refer(self, data: Mapping[str, Any], references: dict[str, str], depth: int) -> None:
        """Gathers the schemas that a schema refers to."""
        if depth > _MOST_LEVELS:
            raise EngineProblem(
                "registry-refused",
                f"schema {data['id']} refers to others in more than {_MOST_LEVELS} levels",
                hint="list the columns",
                error_code=40001,
            )
        for each in data.get("references") or ():
            name, subject, version = str(each["name"]), str(each["subject"]), int(each["version"])
            if len(references) >= _MOST_REFERENCES:
                raise _odd(f"a schema refers to more than {_MOST_REFERENCES} others")
            if name not in references:
                answer = self._ask("GET", f"/subjects/{_quoted(subject)}/versions/{version}")
                found = self._checked(answer, f"version {version} of {subject}")
                self._refer(found, references, depth + 1)
                references.setdefault(name, str(found["schema"]))


class _TooMuch(Exception):
    """An answer is too large, or takes too long."""


def _read(response: httpx.Response) -> bytes:
    """The body of an answer; raises _TooMuch."""
    found, end = bytearray(), time.monotonic() + _SECONDS
    for part in response.iter_bytes():
        found += part
        if len(found) > LARGEST:
            raise _TooMuch(f"the answer has more than {LARGEST} bytes")
        if time.monotonic() > end:
            raise _TooMuch(f"the answer takes more than {_SECONDS:g} s")
    return bytes(found)


def _odd(what: str) -> EngineProblem:
    return EngineProblem(
        "registry-refused",
        f"the answer of the schema registry cannot be used: {what}",
        hint="check ksql.schema.registry.url",
        error_code=40001,
    )


def _id(data: Any) -> int:
    """The id in an answer: a number of 31 bits, as it stands in records."""
    found = data.get("id") if isinstance(data, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 2**31:
        raise _odd(f"{str(found)[:40]} is no id of a schema")
    return found


def _of_tls(error: BaseException | None) -> str | None:
    """What TLS has against a connection; None if the error is of something else."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return getattr(error, "verify_message", "") or (error.reason or str(error)).replace("_", " ").lower()
        error = error.__cause__ or error.__context__
    return None


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _body(schema: str, kind: str) -> dict[str, str]:
    return {"schema": schema} if kind == PLAIN else {"schema": schema, "schemaType": kind}
