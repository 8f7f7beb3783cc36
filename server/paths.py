"""Paths: parameters that take all characters (of Starlette's ``path`` line ends are none), and those of the page."""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.types import Scope

__all__ = ["PAGE", "TEXT", "is_page", "wants_page"]

TEXT = "text"
"""Its name, as in ``{name:text}``."""


class _Text(PathConvertor):
    """Anything."""

    regex = "(?s:.*)"


register_url_convertor(TEXT, _Text())

PAGE = "/ui"
"""Where the web page is."""


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for the server itself, and so is led to the page."""
    return scope["path"] == "/" and "text/html" in Headers(scope=scope).get("accept", "")


def is_page(scope: Scope) -> bool:
    """Whether a request is for a file of the page, or on the way to it: nobody has to log in to see an empty page."""
    path = scope["path"]
    return path == PAGE or path.startswith(f"{PAGE}/") or wants_page(scope)
