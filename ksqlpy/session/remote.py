"""A session with a server, over its REST API."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ksqlpy.client import DEFAULT_URL, Client, Connection, RowRefused, Waiting
from ksqlpy.errors import EngineProblem, StatementError
from ksqlpy.session.asynchronous import AsyncSession
from ksqlpy.session.columns import has_arrow, read
from ksqlpy.session.inbox import Given, Inbox, Opened
from ksqlpy.session.misuse import row_refused
from ksqlpy.session.rows import Column
from ksqlpy.session.session import Session
from ksqlpy.session.typetexts import type_of

__all__ = ["aconnect", "connect"]


def connect(
    url: str = DEFAULT_URL,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    cafile: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    wait: float = 0.0,
) -> Session:
    """A session with a server.

    ``user``, ``password``, ``token``: who asks; a token is sent in the place of the other two. ``cafile``: certificates
    that are trusted instead of the machine's; ``certificate``, ``key``: what this client shows; ``insecure``: any
    certificate of the server will do. ``wait``: for how many seconds a server is waited for that is just starting.
    Raises ConfigProblem for a URL or certificates that are none, EnvironmentProblem where the server cannot be reached
    or does not let one in.
    """
    client = Client(
        Connection(
            url,
            user,
            password,
            _path(cafile),
            insecure,
            Waiting(wait, wait),
            token,
            _path(certificate),
            _path(key),
        )
    )
    try:
        client.info()
    except BaseException:
        client.close()
        raise
    return Session(_Remote(client), client.url)


def aconnect(
    url: str = DEFAULT_URL,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    cafile: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    wait: float = 0.0,
) -> AsyncSession:
    """A session with a server for asyncio, which is opened where it is awaited or entered: see :func:`connect`.

    >>> async def names(url):                                                           # doctest: +SKIP
    ...     async with aconnect(url) as session:
    ...         return [row.name async for row in await session.query("SELECT name FROM people")]
    """
    return AsyncSession(
        partial(
            connect, url, user=user, password=password, token=token, cafile=cafile, certificate=certificate, key=key,
            insecure=insecure, wait=wait,
        )
    )  # fmt: skip


def _path(given: str | os.PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given)


class _Remote:
    """The way to a server: requests."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.closed = False

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]:
        """See :class:`ksqlpy.session.session.Transport`."""
        return self._client.statements(sql, properties, variables)

    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened:
        """The same."""
        told: list[tuple[Callable[[], None], bool]] = []
        forms = ("numbers", "arrow") if has_arrow() else ("numbers",)
        items = self._client.push(
            sql, properties, variables, begun=lambda cut, whole: told.append((cut, whole)), forms=forms
        )
        try:
            header = next(items)
            columns = tuple(
                Column(name, type_of(type_))
                for name, type_ in zip(header["columnNames"], header["columnTypes"], strict=True)
            )
        except ValueError as e:  # lines that are not JSON
            items.close()
            hint = "a consumer of Kafka reads topics as they are"
            raise StatementError("not-a-query", "PRINT gives no rows", sql=sql, hint=hint) from e
        except (StopIteration, LookupError, TypeError) as e:
            items.close()
            raise EngineProblem("bad-answer", "the server's answer has no header", hint="check the URL") from e
        except BaseException:
            items.close()
            raise
        query_id, [(cut, whole)] = str(header.get("queryId") or ""), told
        if whole:
            return Given(query_id, columns, [*_rows(items, columns)])
        return Inbox(query_id, columns, _rows(items, columns), cut)

    def insert(self, target: str, lines: Iterable[bytes]) -> int:
        """The same."""
        written = 0
        try:
            for there in self._client.inserts(target, (line.decode() for line in lines)):
                written = there
        except RowRefused as e:
            raise row_refused(e.row, e) from e
        return written

    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None:
        """The same."""
        self._client.acknowledge(query_id, rows, target, lines)

    def close(self) -> None:
        """The same."""
        self._client.close()
        self.closed = True


def _rows(items: Generator[Any, None, None], columns: Sequence[Column]) -> Generator[Any, None, None]:
    try:
        for item in items:
            if type(item) is list:
                yield item
            elif type(item) is bytes:
                yield read(item, columns)
    finally:
        items.close()
