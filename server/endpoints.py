"""Which endpoint a request is for, by a name of which there are few."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from starlette.types import Message

__all__ = ["LEFT", "OTHER", "code_of", "endpoint_of", "endpoints_of"]

OTHER = "other"
"""The endpoint of requests for paths that there are not."""

LEFT = "499"
"""The code of requests whose clients have left before there was an answer."""


def endpoints_of(paths: Iterable[str]) -> frozenset[str]:
    """The endpoints of the paths of routes."""
    return frozenset(path.partition("/{")[0] or "/" for path in paths)


def endpoint_of(path: str, endpoints: Collection[str]) -> str:
    """The endpoint of a path, without what is named in it."""
    if path in endpoints:
        return path
    begin = "/" + path[1:].partition("/")[0]
    return begin if begin in endpoints else OTHER


def code_of(message: Message, code: str) -> str:
    """The code of an answer behind one of its messages; ``code``: that ahead of it."""
    match message["type"]:
        case "http.response.start":
            return str(message["status"])
        case "websocket.accept":
            return "101"
        case "websocket.close" if code == LEFT:  # it was not accepted
            return "403"
    return code
