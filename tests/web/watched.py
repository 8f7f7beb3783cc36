"""What goes wrong in a page without being seen: failures of its program, and requests that leave the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Request

__all__ = ["Watched", "watched"]

ANSWERS = "Failed to load resource"
"""What a browser notes of an answer that is an error: tests send wrong statements."""


@dataclass
class Watched:
    """A page, with the failures of its program and the addresses of other servers that it has asked."""

    page: Page
    failures: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def check(self) -> None:
        assert self.failures == []
        assert self.foreign == []


def watched(page: Page, url: str) -> Watched:
    """Watches a page of the server at ``url``."""
    seen = Watched(page)

    def said(message: ConsoleMessage) -> None:
        if message.type == "error" and ANSWERS not in message.text:
            seen.failures.append(message.text)

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            seen.foreign.append(request.url)

    page.on("pageerror", lambda error: seen.failures.append(str(error)))
    page.on("console", said)
    page.on("request", asked)
    return seen
