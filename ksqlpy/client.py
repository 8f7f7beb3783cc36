"""A client of the REST API; blocking, and quick to import.

>>> with Client("http://127.0.0.1:8088") as client:                               # doctest: +SKIP
...     client.statements("SHOW STREAMS;")
...     header, *rows = client.push("SELECT * FROM s EMIT CHANGES LIMIT 3;")
...     for written in client.inserts("s", [{"id": 1}, {"id": 2}]):
...         print(written)

Source of the rules: ksqlDB manual, "ksqlDB REST API". It speaks to ksqlDB servers too.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx

from ksqlpy.errors import ConfigProblem, EngineProblem, EnvironmentProblem, KsqlError, Span, StatementError, file_reason
from ksqlpy.insertlines import InsertLines
from ksqlpy.querylines import query_items

__all__ = ["AT_START", "DEFAULT_URL", "NOT_YET", "STARTING", "Client", "Connection", "RowRefused", "Waiting"]

DEFAULT_URL = "http://127.0.0.1:8088"

STARTING = 50302
"""ksqlDB's code of a server that takes no statements yet."""

NOT_YET, AT_START = 10.0, 300.0
"""Seconds that :class:`Waiting` gives a server to answer at all, and to start."""

_PAUSE = 0.2

_UNTRUSTED = re.compile(r"certificate verify failed: (.+?)(?: \(_ssl|$)")
_SIGNED = "name what signed it with --cacert FILE"

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Waiting:
    """For how many seconds a server is waited for that does not answer yet, and one that says that it is starting.

    ``shown``: shows what is waited for while its block runs.
    """

    not_yet: float = 0.0
    starting: float = 0.0
    shown: Callable[[str], contextlib.AbstractContextManager[None]] = field(
        default=lambda text: contextlib.nullcontext(), compare=False, repr=False
    )


@dataclass(frozen=True)
class Connection:
    """How a server is reached: its URL, who one is there, and how its certificate is checked.

    ``token``: sent in the place of a name and a password. ``cafile``: certificates that are trusted instead of the
    machine's; ``insecure``: any certificate will do. ``certificate``: what this client shows to a server that asks for
    one, with its ``key``, which may stand in the same file.
    ``waiting``: how long a client waits for a server that is just starting; not at all by default.
    Name and password in the URL count where ``user`` is not given; :attr:`address` shows neither.
    """

    url: str = DEFAULT_URL
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    cafile: Path | None = None
    insecure: bool = False
    waiting: Waiting = Waiting()
    token: str | None = field(default=None, repr=False)
    certificate: Path | None = None
    key: Path | None = None

    @property
    def address(self) -> str:
        """The URL as people may see it; raises ConfigProblem ``bad-url`` for what is no URL of a server."""
        url = self.url.rstrip("/")
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
            usable = usable and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise ConfigProblem("bad-url", f"{url!r} is no URL of a server", hint=f"one looks like {DEFAULT_URL}")
        return url.replace(f"{parts.netloc.rpartition('@')[0]}@", "", 1) if "@" in parts.netloc else url

    @property
    def login(self) -> tuple[str, str] | None:
        """Name and password, if there is a name and no token."""
        if self.token is not None:
            return None
        if self.user is not None:
            return self.user, self.password or ""
        parts = urlsplit(self.url)
        return (unquote(parts.username), unquote(parts.password or "")) if parts.username else None

    def trust(self) -> ssl.SSLContext | bool:
        """What checks the certificate, and shows one; raises ConfigProblem ``bad-cacert`` and ``bad-cert``."""
        if not self.url.startswith("https:"):
            return False
        if self.certificate is None and (self.insecure or self.cafile is None):
            return not self.insecure  # loading certificates takes time
        context = self._trusting()
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key, password="")  # never asked for at the terminal
            except ssl.SSLError as e:
                said = f"{self.certificate} holds no certificate with its key, or the key has a password"
                raise ConfigProblem("bad-cert", said, hint="name the file of the key with --key") from e
            except OSError as e:
                files = " or ".join(str(f) for f in (self.certificate, self.key) if f is not None)
                raise ConfigProblem("bad-cert", f"{files} cannot be read: {file_reason(e)}") from e
        return context

    def _trusting(self) -> ssl.SSLContext:
        if self.insecure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return context
        if self.cafile is None:
            return httpx.create_ssl_context()
        try:
            return ssl.create_default_context(cafile=str(self.cafile))
        except ssl.SSLError as e:
            raise ConfigProblem("bad-cacert", f"there are no certificates in {self.cafile}") from e
        except OSError as e:
            raise ConfigProblem("bad-cacert", f"{self.cafile} cannot be read: {file_reason(e)}") from e


class RowRefused(ConfigProblem):
    """A row that was not inserted. ``row``: its number, from 0; those before it are there."""

    row = 0


class Client:
    """A session with one server; to be closed, or used as a context manager.

    Every method raises EnvironmentProblem (``server-unavailable``, ``connection-lost``, ``server-slow``, ``no-access``,
    ``bad-certificate``) when the server cannot be talked to, and what the server refused as the error that it was
    there: code, place and hint included.
    """

    def __init__(self, server: str | Connection = DEFAULT_URL, patience: float | None = None) -> None:
        """Connects at the first request.

        ``patience``: seconds until an answer must begin; None: a statement may take as long as it takes. Raises
        ConfigProblem: ``bad-url``, ``bad-cacert``, ``bad-cert``.
        """
        connection = Connection(server) if isinstance(server, str) else server
        self.url = connection.address
        self._waiting = connection.waiting
        self._http = httpx.Client(
            base_url=self.url,
            timeout=httpx.Timeout(patience, connect=10),
            trust_env=urlsplit(self.url).hostname not in _LOOPBACK,
            verify=connection.trust(),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),  # push queries hold theirs
            auth=connection.login,
            headers={} if connection.token is None else {"Authorization": f"Bearer {connection.token}"},
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def statements(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Runs statements and gives their entities.

        A failing statement raises its error, which has the entities of those before it as ``entities``.
        """
        body = {"ksql": sql, "streamsProperties": dict(properties or {}), "sessionVariables": dict(variables or {})}
        entities: list[dict[str, Any]] = self._request("POST", "/ksql", body, sql)
        return entities

    def push(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
        begun: Callable[[Callable[[], None], bool], None] = lambda cut, whole: None,
        forms: Sequence[str] = (),
    ) -> Generator[Any, None, None]:
        """Runs a query; gives first its header (``queryId``, ``columnNames``, ``columnTypes``), then rows as lists.

        A header of a pull query has ``behind`` where queries whose results it reads have still records to read: their
        number by the query's id, None of one that has not begun.

        Fractions are Decimals with the digits that the server sent, save those of DOUBLE columns. Ends when the query
        ends. Closing the iterator closes the query. ``begun``: is given, ahead of the header, what breaks the answer
        off, and whether the answer is whole already, as a lookup's. Any thread may break it off, also while another one
        waits for rows, whose iterator raises ``connection-lost``. ``forms``: what programs want of servers that have
        it: ``numbers`` for dates and times, and ``arrow``, bytes of Arrow's streams in the place of many rows; then
        fractions are Decimals in rows with DECIMAL columns only.
        """
        body = {"sql": sql, "properties": dict(properties or {}), "sessionVariables": dict(variables or {})}
        accept = {"Accept": "application/vnd.ksqlapi.delimited.v1"}
        if forms:
            accept["ksqlpy-rows"] = ",".join(forms)
        with (
            self._talking(),
            self._sent("POST", "/query-stream", json=body, headers=accept) as response,
            _Breaking(response) as breaking,
        ):
            if response.status_code >= 400:
                response.read()
                raise _error(response, sql)
            begun(breaking.cut, "content-length" in response.headers)
            for item in query_items(response.iter_bytes(), by_type=bool(forms)):
                if isinstance(item, dict):
                    if "error_code" in item:
                        raise _restored(item, sql)
                    if "columnNames" in item and (behind := _behind(response)):
                        item["behind"] = behind
                yield item

    def inserts(
        self,
        source: str,
        rows: Iterable[Mapping[str, object] | str],
        properties: Mapping[str, object] | None = None,
        id: str | None = None,
    ) -> Generator[int, None, None]:
        """Inserts rows into a stream or table as they come; gives how many are there, each time that it is known.

        ``rows``: columns and values, or JSON of them. ``id``: a name under which the rows are numbered: those that are
        there from an earlier call are passed over, so that who gives all rows again has each of them once. Raises
        RowRefused; what ``rows`` raises comes when the rows before it are there. Servers of ksqlDB take no rows over
        HTTP/1.1.
        """
        first: dict[str, object] = {"target": source, "properties": dict(properties or {})}
        there, all_rows = 0, iter(rows)
        if id is not None:
            first["id"] = id
            there = self._inserted(first, InsertLines(iter(())), 0)
            there = sum(1 for _ in itertools.islice(all_rows, there))
            yield there
        while True:
            some = InsertLines(all_rows)
            if some.over and (there or id is not None):
                break
            there = self._inserted(first if id is None else {**first, "seq": there}, some, there)
            yield there
            if some.over:
                break
        if some.failed is not None:
            raise some.failed

    def _inserted(self, first: Mapping[str, object], some: InsertLines, there: int) -> int:
        """Sends rows by one request; gives how many are there then."""
        content = itertools.chain((json.dumps(first).encode() + b"\n",), some)
        with self._talking():
            request = self._http.build_request("POST", "/inserts-stream", content=content)
            with contextlib.closing(self._http.send(request, stream=True)) as response:
                if response.status_code >= 400:
                    response.read()
                    raise _error(response, None)
                said = [json.loads(line) for line in response.read().split(b"\n") if line]
        if "id" in first and said and "rows" in said[0]:  # how many were there
            before = said.pop(0)["rows"]
            if not some.sent:
                return int(before)
        for number, answer in enumerate(said):
            if answer.get("status") != "ok":
                error = _restored(answer, None)
                refused = RowRefused(error.code, error.message, hint=error.hint, error_code=error.error_code)
                refused.row = there + number
                raise refused
        if len(said) < some.sent:
            raise EnvironmentProblem(
                "connection-lost",
                f"{self.url} has acknowledged {there + len(said):,} of {there + some.sent:,} rows",
                hint="see the server's log",
            )
        return there + len(said)

    def acknowledge(self, query_id: str, rows: int, target: str | None = None, lines: Iterable[bytes] = ()) -> None:
        """The first ``rows`` rows of a push query under a ``ksqlpy.subscription`` are done; of ksqlpy's servers only.

        ``lines``: JSON of rows that are written into the stream or table ``target`` in the same transaction.
        """
        first = {"queryId": query_id, "rows": rows, **({} if target is None else {"target": target})}
        content = b"\n".join((json.dumps(first).encode(), *lines))
        with self._talking(), self._sent("POST", "/acknowledge", content=content) as response:
            response.read()
        if response.status_code >= 400:
            raise _error(response, None)

    def lines(
        self,
        sql: str,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Generator[str, None, None]:
        """Runs PRINT; gives first its id, then its lines. Closing the iterator ends it."""
        body = {"sql": sql, "properties": dict(properties or {}), "sessionVariables": dict(variables or {})}
        accept = {"Accept": "application/vnd.ksqlapi.delimited.v1"}
        with self._talking(), self._sent("POST", "/query-stream", json=body, headers=accept) as response:
            if response.status_code >= 400:
                response.read()
                raise _error(response, sql)
            yield response.headers.get("x-query-id", "")
            rest = b""
            for chunk in response.iter_bytes():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):  # lines of records begin with a word
                        raise _restored(json.loads(line), sql)
                    yield line.decode(errors="replace")

    def close_query(self, query_id: str) -> bool:
        """Ends a push query; False if the server knows none of that id."""
        try:
            self._request("POST", "/close-query", {"queryId": query_id})
        except KsqlError as e:
            if e.error_code // 100 == 400:
                return False
            raise
        return True

    def info(self) -> dict[str, Any]:
        """Version and names of the server."""
        info: dict[str, Any] = self._request("GET", "/info")["KsqlServerInfo"]
        return info

    def healthcheck(self) -> dict[str, Any]:
        """The health of the server's parts, also when it is bad."""
        with self._talking(), self._sent("GET", "/healthcheck") as response:
            response.read()
        data = _json(response)
        if isinstance(data, dict) and "isHealthy" in data:
            return data
        raise _error(response, None)

    def dead_letters(
        self,
        query: str | None = None,
        topic: str | None = None,
        letters: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """The dead letters that one may see; of ksqlpy's servers only."""
        body = {"query": query, "topic": topic, "lettersTopic": letters, "limit": limit}
        found: list[dict[str, Any]] = self._request("POST", "/deadletters", body)["deadLetters"]
        return found

    def replay_letters(
        self,
        query: str | None = None,
        topic: str | None = None,
        letters: str | None = None,
        mended: list[dict[str, Any]] | None = None,
        *,
        again: bool = False,
        dry: bool = False,
    ) -> dict[str, int]:
        """Replays dead letters; gives how many records are written, and how many left out for which reason."""
        body = {"query": query, "topic": topic, "lettersTopic": letters, "letters": mended}
        told: dict[str, int] = self._request("POST", "/deadletters/replay", {**body, "again": again, "dryRun": dry})
        return told

    def check_property(self, name: str) -> None:
        """Raises ConfigProblem when the server knows no property of that name that statements may set."""
        self._request("GET", f"/is_valid_property/{quote(name, safe='')}")

    def _request(self, method: str, path: str, body: object = None, sql: str | None = None) -> Any:
        with self._talking(), self._sent(method, path, json=body) as response:
            response.read()
        if response.status_code >= 400:
            raise _error(response, sql)
        data = _json(response)
        if data is None and response.content:
            raise _error(response, sql)
        return data

    def _sent(self, method: str, path: str, **more: Any) -> contextlib.closing[httpx.Response]:
        """The answer to a request, whose body is yet to be read; of a server that is waited for once it has started.

        A request that is sent again has not been taken before.
        """
        request = self._http.build_request(method, path, **more)
        begun, waiting = time.monotonic(), self._waiting
        with contextlib.ExitStack() as shown:
            for tries in itertools.count():
                passed = time.monotonic() - begun
                try:
                    response = self._http.send(request, stream=True)
                except httpx.ConnectError as e:
                    if passed >= waiting.not_yet or not _is_refused(e):
                        raise
                else:
                    if passed >= waiting.starting or not _is_starting(response):
                        # One that has answered is not about to start when it does not any more.
                        self._waiting = replace(waiting, not_yet=0.0)
                        return contextlib.closing(response)
                if tries == 0:
                    shown.enter_context(waiting.shown(f"waiting for {self.url}"))
                time.sleep(_PAUSE)
        raise AssertionError  # the loop has no other end

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as e:
            if "CERTIFICATE_VERIFY_FAILED" in str(e):
                why = _UNTRUSTED.search(str(e))
                late = why is not None and ("expired" in why[1] or "not yet" in why[1])
                means = "renew it, and see to the clocks of both machines" if late else _SIGNED
                raise EnvironmentProblem(
                    "bad-certificate",
                    f"the certificate of {self.url} is not trusted{f': {why[1]}' if why is not None else ''}",
                    hint=f"{means}, or take any with --insecure",
                ) from e
            raise EnvironmentProblem(
                "server-unavailable", f"no server answers at {self.url}", hint="start one: ksqlpy server"
            ) from e
        except httpx.TimeoutException as e:
            raise EnvironmentProblem(
                "server-slow", f"{self.url} gives no answer in time", hint="see the server's log"
            ) from e
        except httpx.TransportError as e:
            raise EnvironmentProblem(
                "connection-lost",
                f"the connection to {self.url} broke: {e or type(e).__name__}",
                hint="see the server's log",
            ) from e


def _behind(response: httpx.Response) -> dict[str, int | None]:
    """What the header of ksqlpy's servers says of queries that are behind."""
    with contextlib.suppress(ValueError):
        said = json.loads(response.headers.get("ksqlpy-behind", "{}"))
        if isinstance(said, dict):
            return said
    return {}


class _Breaking:
    """An answer that another thread may break off while its rows are waited for; a context manager around the reading.

    Behind it the connection may be that of another request.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._lock = threading.Lock()
        self._reading = True

    def cut(self) -> None:
        """Ends it where it is still read."""
        with self._lock, contextlib.suppress(OSError):
            if self._reading:
                connection = self._response.extensions["network_stream"].get_extra_info("socket")
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> _Breaking:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._reading = False


def _is_refused(error: BaseException) -> bool:
    """Whether nobody listens there, which may change; a name or a certificate that is wrong stays so."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return isinstance(error, ConnectionRefusedError)


def _is_starting(response: httpx.Response) -> bool:
    """Whether it is the answer of a server that starts; reads and closes only that of one that can do nothing now."""
    if response.status_code != 503:
        return False
    response.read()
    data = _json(response)
    return isinstance(data, dict) and data.get("error_code") == STARTING


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def _error(response: httpx.Response, sql: str | None) -> KsqlError:
    data = _json(response)
    if response.status_code in (401, 403):
        known = response.request.headers.get("authorization") is not None
        return EnvironmentProblem(
            "no-access",
            "the server does not let you in" if known else "the server wants to know who you are",
            hint="-u USER says who you are, with the password of KSQLPY_PASSWORD or --password-file; a token comes from"
            " KSQLPY_TOKEN or --token-file",
            error_code=response.status_code * 100,
        )
    if isinstance(data, dict) and "message" in data:
        return _restored(data, sql)
    return EnvironmentProblem(
        "no-ksqldb-server",
        f"{response.request.url} answers {response.status_code} {response.reason_phrase}, which is no answer of a"
        " ksqlDB server",
        hint="check the URL",
    )


def _restored(body: Mapping[str, Any], sql: str | None) -> KsqlError:
    """The error that a server's error entity stands for."""
    number = body.get("error_code")
    number = number if isinstance(number, int) else 50000
    kind: type[KsqlError] = ConfigProblem if number < 50000 else EngineProblem
    if body.get("@type") == "statement_error":
        kind = StatementError
    more = body.get("ksqlpy")
    more = more if isinstance(more, dict) else {}
    error = kind(
        str(more.get("code") or f"server-{number}"),
        str(more.get("message") or body.get("message")),
        span=_span(more, sql),
        sql=sql,
        hint=more.get("hint"),
        error_code=number,
    )
    error.statement_text = body.get("statementText") or ""
    error.entities = body.get("entities") or []
    return error


def _span(more: Mapping[str, Any], sql: str | None) -> Span | None:
    line, column, length = (more.get(key) for key in ("line", "column", "length"))
    if not (sql is not None and isinstance(line, int) and isinstance(column, int) and isinstance(length, int)):
        return None
    # Lines end as Span.position counts them: at "\n" only.
    start = sum(len(text) + 1 for text in sql.split("\n")[: line - 1]) + column - 1
    return Span(start, min(start + length, len(sql))) if 0 <= start <= len(sql) else None
