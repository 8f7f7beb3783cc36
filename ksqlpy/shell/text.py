"""Values as text for a terminal: escapes, widths, folding.

Data must not drive the terminal, so what moves its cursor or turns its direction is written as an escape.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from decimal import Decimal

__all__ = ["cell_text", "csv_line", "cut", "escaped", "fold", "json_line", "json_text", "pad", "text_width"]

NO_WIDTH = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that turn the direction of what follows on the screen."""

ELLIPSIS = "…"


def escaped(text: str, keep: str = "") -> str:
    """The text with control characters, and what else moves a terminal's cursor, written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c in keep or not _moves(c) else _escape(c) for c in text)


def _moves(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") or char in NO_WIDTH


def _escape(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or (
        f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
    )


def cell_text(value: object) -> str:
    """A value in a table: text as it is, everything else as JSON; NULL for none."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return escaped(value)
    return escaped(json_text(value))


def json_line(text: str, unicode: bool = True) -> str:
    """JSON as programs read it and terminals bear it: what would move a cursor is ``\\u001b`` and the like.

    ``unicode``: whether the reader takes more than ASCII; else all other characters are written so too.
    """
    if text.isprintable() and (unicode or text.isascii()):
        return text
    return "".join(c if c == "\n" or not (_moves(c) or (not unicode and c > "~")) else _json_escape(c) for c in text)


def _json_escape(char: str) -> str:
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"


def json_text(value: object) -> str:
    """A value as JSON; a Decimal becomes a number with all its digits."""
    if isinstance(value, Decimal):
        return format(value, "f") if -40 < value.adjusted() < 40 else str(value)
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k, ensure_ascii=False)}: {json_text(v)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(json_text(v) for v in value)}]"
    return json.dumps(value, ensure_ascii=False)


def csv_line(values: list[object], *, escape: bool) -> str:
    """Values as a line of CSV (RFC 4180): nothing for NULL, ``""`` for an empty text, JSON for what has parts.

    ``escape``: for a terminal; elsewhere text stays as it is.
    """
    return ",".join(_csv_cell(value, escape) for value in values)


def _csv_cell(value: object, escape: bool) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json_text(value)
    text = escaped(text) if escape else text
    quoted = not text or any(c in text for c in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text


def text_width(text: str) -> int:
    """The columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int, right: bool = False) -> str:
    """The text with blanks up to a width; ``right``: in front of it."""
    room = " " * (width - text_width(text))
    return room + text if right else text + room


def cut(text: str, width: int) -> str:
    """The text, or its beginning with ``…``, within a width of 1 or more."""
    if len(text) <= width and text_width(text) <= width:
        return text
    return next(fold(text[: width + 1], width - 1), "") + ELLIPSIS if width > 1 else ELLIPSIS


def fold(text: str, width: int) -> Iterator[str]:
    """The text in pieces that are as wide or narrower, broken behind a blank where one stands in their second half.

    A character that is wider stands alone.
    """
    if text.isascii():
        at = 0
        while at < len(text):
            end = at + width
            blank = text.rfind(" ", at + width // 2, end) if end < len(text) and text[end] != " " else -1
            end = blank + 1 if blank >= 0 else end
            yield text[at:end]
            at = end
        return
    line, used = "", 0
    for char in text:
        size = text_width(char)
        if line and used + size > width:
            yield line
            line, used = "", 0
        line, used = line + char, used + size
    if line:
        yield line
