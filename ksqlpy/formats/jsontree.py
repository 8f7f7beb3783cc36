"""The first JSON value of a text as a tree that keeps names that come twice and the digits of numbers.

What is taken and what is not is as in Jackson, with which the readers in the JVM read (``JsonReader.java``): text
behind the value is not looked at, except right behind a word or a number; 1000 levels, numbers of 1000 digits.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Any

from ksqlpy.formats.contract import Unreadable
from ksqlpy.formats.java import LONGEST_NUMBER

__all__ = ["Broken", "HalfPair", "NotJson", "Number", "Pairs", "json_string", "tree"]

_DEPTH = 1000
_LONGEST_NAME = 50_000

_SPACE = re.compile(rb"[ \t\r\n]*")
_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE][+-]?([0-9]+))?")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_HALF = re.compile(rb"\xed[\xa0-\xbf]")
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_ESCAPES = {b'"': '"', b"\\": "\\", b"/": "/", b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}
_WORDS = ((b"true", True), (b"false", False), (b"null", None))
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class NotJson(Unreadable):
    """A text that is no JSON."""

    def __init__(self, why: str) -> None:
        super().__init__(f"not JSON: {why}")


class Number(str):
    """A number as it is written."""

    @property
    def whole(self) -> bool:
        """Whether it has neither point nor exponent."""
        return not any(c in self for c in ".eE")

    @property
    def digits(self) -> str:
        """As what reads a text has it: -0 is 0."""
        return "0" if self == "-0" else str(self)


class HalfPair(str):
    """A string with half a pair of surrogates as bytes: no JSON where somebody wants it, but it can be passed over."""

    error = NotJson("half a pair of surrogates")


class Pairs(list[tuple[str, Any]]):
    """An object: names and values as they come."""


@dataclass(frozen=True)
class Broken:
    """Where a text stops to be JSON: what stands before it can be of a wrong type, which is then told."""

    error: NotJson

    @classmethod
    def within(cls, value: Any) -> Broken | None:
        """The one in a value of a tree, where it is always the last."""
        while isinstance(value, list) and value:
            value = value[-1][1] if isinstance(value, Pairs) else value[-1]
        return value if isinstance(value, cls) else None


def tree(data: bytes) -> Any:
    """None, bool, str, :class:`Number`, list or :class:`Pairs`; the last value is :class:`Broken` if it is no JSON."""
    return _Parser(_utf8(data)).value()


def json_string(text: str) -> str:
    """A text in quotes, as Jackson writes it."""
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0], f"\\u{ord(m[0]):04X}"), text) + '"'


# ---------------------------------------------------------------- bytes


def _utf8(data: bytes) -> bytes:
    """A text in UTF-16 or UTF-32, as its first bytes say, as UTF-8; others as they are, without a mark."""
    for mark, encoding in (
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace").encode()
    data = data.removeprefix(codecs.BOM_UTF8)
    zeros = [b == 0 for b in data[:4]]
    for pattern, encoding in (
        ([True, True, True, False], "utf-32-be"),
        ([False, True, True, True], "utf-32-le"),
        ([True, False], "utf-16-be"),
        ([False, True], "utf-16-le"),
    ):
        if zeros[: len(pattern)] == pattern:
            return data.decode(encoding, "replace").encode()
    return data


def _text(data: bytes) -> str:
    """A piece of a string; any form of a character is taken, also one that is too long."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    out: list[str] = []
    at = 0
    while at < len(data):
        first = data[at]
        length = next((n for n, (shift, mark) in _STARTS.items() if first >> shift == mark), 0)
        rest = data[at + 1 : at + length]
        if not length or len(rest) < length - 1 or any(b >> 6 != 0b10 for b in rest):
            raise NotJson("a character is not in UTF-8")
        code = first if length == 1 else first & 0xFF >> (length + 1)
        for b in rest:
            code = code << 6 | b & 0x3F
        if length == 4:
            code -= 0x10000
            out += chr(0xD800 | code >> 10 & 0xFFFF), chr(0xDC00 | code & 0x3FF)
        else:
            out.append(chr(code))
        at += length
    return "".join(out)


_STARTS = {1: (7, 0b0), 2: (5, 0b110), 3: (4, 0b1110), 4: (3, 0b11110)}
"""By the number of bytes of a character: how the first one begins, all but its last bits."""


# ---------------------------------------------------------------- reading


class _Parser:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self) -> Any:
        """The first value. Not recursive, since texts may be nested more deeply than Python calls."""
        self._skip()
        if self._at == len(self._data):
            return Broken(NotJson("the text is empty"))
        open_: list[tuple[list[Any], str]] = []
        try:
            return self._value(open_)
        except NotJson as e:
            found: Any = Broken(e)
            # What is open ends with it.
            name = ""
            for around, outer in reversed(open_):
                around.append((name, found) if isinstance(around, Pairs) else found)
                found, name = around, outer
            return found

    def _value(self, open_: list[tuple[list[Any], str]]) -> Any:
        """``open_``: objects and arrays that are not at their end, each with the name under which it stands."""
        name = ""
        while True:
            # A value begins here.
            c = self._data[self._at : self._at + 1]
            found: Any
            if c in (b"{", b"["):
                self._at += 1
                self._skip()
                found = Pairs() if c == b"{" else []
                if len(open_) == _DEPTH:
                    raise NotJson(f"nested more deeply than {_DEPTH}")
                if not self._took(b"}" if c == b"{" else b"]"):
                    open_.append((found, name))
                    name = self._name() if c == b"{" else ""
                    continue
            else:
                found = self._scalar(c, root=not open_)
            # A value is read: it goes into what is open, which may end with it.
            while open_:
                around, outer = open_[-1]
                around.append((name, found) if isinstance(around, Pairs) else found)
                self._skip()
                if self._took(b","):
                    self._skip()
                    name = self._name() if isinstance(around, Pairs) else ""
                    break
                if not self._took(b"}" if isinstance(around, Pairs) else b"]"):
                    raise self._odd("a comma or the end of an " + ("object" if isinstance(around, Pairs) else "array"))
                open_.pop()
                found, name = around, outer
            else:
                return found

    def _skip(self) -> None:
        match = _SPACE.match(self._data, self._at)
        assert match is not None
        self._at = match.end()

    def _took(self, wanted: bytes) -> bool:
        if self._data.startswith(wanted, self._at):
            self._at += 1
            return True
        return False

    def _odd(self, wanted: str) -> NotJson:
        if self._at >= len(self._data):
            return NotJson("the text ends too early")
        found = self._data[self._at : self._at + 4].decode(errors="replace")[:1]
        shown = found if found.isprintable() else f"U+{ord(found):04X}"
        return NotJson(f"{shown} stands in place of {wanted}")

    def _name(self) -> str:
        if not self._took(b'"'):
            raise self._odd("a name in quotes")
        name = self._string()
        if isinstance(name, HalfPair):
            raise name.error
        if len(name) > _LONGEST_NAME:
            raise NotJson(f"a name is longer than {_LONGEST_NAME:,} characters")
        self._skip()
        if not self._took(b":"):
            raise self._odd("a colon")
        self._skip()
        return name

    def _string(self) -> str:
        """A string whose first quote is read."""
        pieces: list[str] = []
        halved = False
        while True:
            match = _PLAIN.match(self._data, self._at)
            assert match is not None
            pieces.append(_text(match[0]))
            halved = halved or _HALF.search(match[0]) is not None
            self._at = match.end()
            if self._took(b'"'):
                return (HalfPair if halved else str)("".join(pieces))
            if not self._took(b"\\"):
                raise self._odd("a character or quote of a string")
            short = _ESCAPES.get(self._data[self._at : self._at + 1])
            if short is not None:
                pieces.append(short)
                self._at += 1
            elif self._took(b"u") and (code := _HEX.match(self._data, self._at)):
                pieces.append(chr(int(code[0], 16)))
                self._at += 4
            else:
                raise self._odd("an escaped character")

    def _scalar(self, first: bytes, *, root: bool) -> Any:
        if first == b'"':
            self._at += 1
            return self._string()
        for word, value in _WORDS:
            if self._data.startswith(word, self._at):
                self._at += len(word)
                behind = self._data[self._at : self._at + 4].decode(errors="replace")[:1]
                if behind >= "0" and behind not in "]}" and (behind.isalnum() or behind in "_"):
                    raise self._odd("the end of a word")
                return value
        match = _NUMBER.match(self._data, self._at)
        if match is None:
            raise self._odd("a value")
        self._at = match.end()
        if match[1] == b"0" and self._data[self._at : self._at + 1].isdigit():
            raise self._odd("the end of a number that begins with 0")
        after = self._data[self._at : self._at + 1]
        # As Jackson: missing digits are an error of the number; what follows a whole number is one of the next token.
        if match[3] is None and (after in (b"e", b"E") or (after == b"." and match[2] is None)):
            raise self._odd("the end of a number")
        if root and self._data[self._at : self._at + 1] not in (b"", b" ", b"\t", b"\r", b"\n"):
            raise self._odd("the end of a number")
        if sum(len(part or b"") for part in match.groups()) > LONGEST_NUMBER:
            raise NotJson(f"a number has more than {LONGEST_NUMBER} digits")
        return Number(match[0].decode())
