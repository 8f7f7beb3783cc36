"""GET /ui: the files of the web page, which need no login; all data that it shows does."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

import ksqlpy
from ksqlpy.server.paths import PAGE, TEXT

__all__ = ["FOLDER", "HEADERS", "HTML", "Files", "router"]

router = APIRouter()

FOLDER = Path(ksqlpy.__file__).parent / "web" / "static"
"""Where ``make web`` puts the page; a wheel has it."""

INDEX = "index.html"

HTML = "text/html; charset=utf-8"

_TYPES = {
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
"""Media types: a machine's own list may have others, and a browser runs no script of another type."""

KEPT = "assets/"
"""What files begin with whose names are made of their content."""

HEADERS: Mapping[str, str] = {
    # No script stands in the page itself, and none comes from elsewhere. Editors make their styles while they run.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
        " font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Of every file of the page."""

_UNBUILT = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>ksqlpy</title>
<h1>The web page is not built</h1>
<p>This server runs from its sources. <code>make web</code> builds the page (it needs Node); a wheel has it.
<p>The <a href="../openapi.json">REST API</a> works without it, and so does the shell: <code>ksqlpy</code>.
</html>
"""


@dataclass(frozen=True)
class _File:
    """A file of the page: its media type and its content."""

    media_type: str
    content: bytes
    keep: bool = False

    @cached_property
    def packed(self) -> bytes | None:
        """The content by gzip; None where that is no smaller."""
        packed = gzip.compress(self.content, 6, mtime=0)
        return packed if len(packed) < len(self.content) * 0.9 else None

    @cached_property
    def tag(self) -> str:
        """By which a browser asks whether it has changed; a weak one, as it is that of the packed file, too."""
        return f'W/"{hashlib.sha256(self.content).hexdigest()[:24]}"'


class Files:
    """The files of a folder, in memory; they are read again when the page was built again."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._built = 0
        self._files: dict[str, _File] = {}

    def find(self, path: str) -> _File | None:
        """The file of a path; the page itself for addresses that the page has made, which have no dot."""
        self._look()
        if not self._files:
            return _File(HTML, _UNBUILT)
        found = self._files.get(path or INDEX)
        if found is None and "." not in path.rpartition("/")[2] and not path.startswith(KEPT):
            found = self._files[INDEX]
        return found

    def _look(self) -> None:
        try:
            built = (self._folder / INDEX).stat().st_mtime_ns
        except OSError:
            built = 0
        if built != self._built:
            self._files = _read(self._folder) if built else {}
            self._built = built


def _read(folder: Path) -> dict[str, _File]:
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            name = file.relative_to(folder).as_posix()
            media_type = _TYPES.get(file.suffix, "application/octet-stream")
            found[name] = _File(media_type, file.read_bytes(), keep=name.startswith(KEPT))
    return found


@router.api_route(PAGE, methods=["GET", "HEAD"])
async def entrance() -> Response:
    """Leads to the page: addresses in it begin at its folder."""
    return RedirectResponse(f"{PAGE[1:]}/", 307)


@router.api_route(f"{PAGE}/{{path:{TEXT}}}", methods=["GET", "HEAD"])
async def file(request: Request, path: str) -> Response:
    """A file of the web page, also while the server starts."""
    files: Files = request.app.state.page
    found = files.find(path)
    if found is None:
        raise HTTPException(404)
    headers = {**HEADERS, "ETag": found.tag, "Vary": "Accept-Encoding"}
    headers["Cache-Control"] = "public, max-age=31536000, immutable" if found.keep else "no-cache"
    if _names(",".join(request.headers.getlist("if-none-match")), found.tag):
        return Response(status_code=304, headers=headers)
    content = found.content
    if _takes_gzip(",".join(request.headers.getlist("accept-encoding"))) and found.packed is not None:
        content, headers["Content-Encoding"] = found.packed, "gzip"
    return Response(content, headers={**headers, "Content-Type": found.media_type})


def _names(header: str, tag: str) -> bool:
    """Whether If-None-Match names a tag, by the weak comparison (RFC 9110, section 13.1.2)."""
    given = [one.strip() for one in header.split(",")]
    return "*" in given or tag.removeprefix("W/") in (one.removeprefix("W/") for one in given)


def _takes_gzip(header: str) -> bool:
    """Whether Accept-Encoding allows gzip: ``gzip;q=0`` does not (RFC 9110, section 12.5.3)."""
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() in ("gzip", "x-gzip"):
            return re.fullmatch(r"q=0(\.0{0,3})?", weight.replace(" ", "")) is None
    return False
