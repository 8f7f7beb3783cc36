"""HTTP/1.1 as RFC 9112 has it, where h11 accepts more: what a proxy could read as other requests than the server.

Request smuggling relies on such differences (RFC 9112, section 11.2). Such requests are refused, and
their connections closed. A connection changes to HTTP/2 by its first bytes only.
"""

from __future__ import annotations

import re
from typing import Any

import h11
import hypercorn.protocol
from hypercorn.protocol.h11 import H11Protocol

__all__ = ["install"]

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_BARE = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)")
_FOLDED = re.compile(rb"\n[ \t]")


class _Connection(h11.Connection):
    """Reads requests."""

    def next_event(self) -> Any:
        """As h11's; raises RemoteProtocolError for more requests."""
        begins = self.their_state is h11.IDLE
        if begins:
            _check_head(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            _check_request(event)
        return event


def _check_head(data: bytes) -> None:
    end = _HEAD_END.search(data)
    head = data[: end.end()] if end else data
    if _BARE.search(head):
        raise h11.RemoteProtocolError("a line ends with CR LF", error_status_hint=400)
    if _FOLDED.search(head):
        raise h11.RemoteProtocolError("a header is one line", error_status_hint=400)


def _check_request(request: h11.Request) -> None:
    if (request.method, request.target, request.http_version) == (b"PRI", b"*", b"2.0"):
        return  # a client that knows that this is HTTP/2 (RFC 9113, section 3.4)
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("unknown version of HTTP", error_status_hint=505)
    names = [name for name, _ in request.headers]
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version == b"1.0"):
        raise h11.RemoteProtocolError("two lengths of a body", error_status_hint=400)


class Protocol(H11Protocol):
    """hypercorn's connection over HTTP/1.1."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connection = _Connection(h11.SERVER, max_incomplete_event_size=self.config.h11_max_incomplete_size)

    async def _check_protocol(self, event: h11.Request) -> None:
        """As hypercorn's, but for ``Upgrade: h2c``, which RFC 9113 has dropped: behind a proxy that passes it on,
        what follows would be requests that the proxy does not see. They are answered in HTTP/1.1."""
        if event.method == b"PRI":
            await super()._check_protocol(event)


def install() -> None:
    """Lets hypercorn use these for all connections from now on."""
    hypercorn.protocol.H11Protocol = Protocol  # type: ignore[attr-defined, assignment]  # imported there, not exported
