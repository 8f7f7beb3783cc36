"""Date and time patterns: what Java's DateTimeFormatter knows, as Spark's date functions take it.

Spark refuses some letters of Java (u, for which its y stands; week fields; A, B, n, N, p), the narrow forms of five
letters, and in parsing E, F, Q and q. It stops the query when it meets one, so every pattern is checked first: here if
it is a constant, else in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ksqlpy.errors import AnalysisProblem
from ksqlpy.functions.sparktext import quoted

__all__ = ["FORMAT_DATE", "FORMAT_TIMESTAMP", "PARSE_DATE", "PARSE_TIMESTAMP", "Patterns", "packed_fraction"]

_PIECE = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)
_FIXED_WIDTH = re.compile(r"(?:yyyy|MM|dd|DDD|HH|mm|ss|[^A-Za-z'\[\]])*")
_JAVA_LETTERS = frozenset("GuyYDMLdQqwWEecFaBhKkHmsSAnNvVzOXxZpg")
_LINE_ENDS = r"\n\r\u0085\u2028\u2029"
"""Spark does not find the fraction in a pattern of several lines."""
_NARROW = frozenset(letter * 5 for letter in "GMLEQq")
_GMT = {"z": "'GMT'", "zz": "'GMT'", "zzz": "'GMT'", "zzzz": "'Greenwich Mean Time'", "VV": "'GMT'", "OOOO": "'GMT'"}


@dataclass(frozen=True)
class Patterns:
    """The patterns that one function takes.

    ``letters``: each with the counts it may have; ``lacking``: letters that ksqlDB takes and Spark does not;
    ``gmt``: zone names are written as ksqlDB has them, GMT where Spark has UTC.
    """

    letters: Mapping[str, str]
    lacking: str
    gmt: bool = False

    def spark(self, pattern: str) -> str | None:
        """A constant Java pattern as Spark's; None for one that is an error in ksqlDB.

        Raises AnalysisProblem ``unsupported-pattern`` for one that only ksqlDB takes.
        """
        pieces = [m[0] for m in _PIECE.finditer(pattern)]
        era = any(p[0] == "G" for p in pieces)
        result: list[str] = []
        for piece in pieces:
            if piece[0] == "u" and not era:
                piece = piece.replace("u", "y")
            elif self.gmt:
                piece = _GMT.get(piece, piece)
            if _is_quotation(piece) and result and _is_quotation(result[-1]):
                # Side by side they would be one quotation with a quote in it.
                piece = f"'{_inside(result.pop())}{_inside(piece)}'"
            result.append(piece)
        text = "".join(result)
        if re.fullmatch(self.regex, text):
            return text
        letters = {p[0] for p in pieces if p[0].isascii() and p[0].isalpha()}
        foreign = sorted(letters & set(self.lacking)) + [p for p in pieces if p in _NARROW]
        if foreign and letters <= _JAVA_LETTERS:
            raise AnalysisProblem(
                "unsupported-pattern",
                f"{foreign[0]} is not supported in this pattern",
                hint=f"supported letters: {' '.join(self.letters)}",
            )
        return None

    @property
    def regex(self) -> str:
        """What a pattern for Spark looks like; Python and Java read this expression alike."""
        runs = "|".join(f"{x}{{{count}}}+(?!{x})" for x, count in self.letters.items())
        item = rf"(?:{runs}|'(?:[^'{_LINE_ENDS}]|'')*+'|[^A-Za-z'\[\]{{}}#{_LINE_ENDS}])"
        return rf"(?:{item}|\[{item}*+\])*+"

    def condition(self, pattern: str) -> str:
        """The Spark text of the check for a pattern that is not a constant."""
        return f"({pattern}) rlike {quoted(f'^{self.regex}$')}"


def _is_quotation(piece: str) -> bool:
    return len(piece) > 1 and piece[0] == "'"


def _inside(quotation: str) -> str:
    return quotation if quotation == "''" else quotation[1:-1]


def packed_fraction(pattern: str) -> int | None:
    """Where the fraction begins in a text of a pattern such as HHmmssSSS: Spark parses it after a separator only."""
    found = re.search(r"(?<=[A-RT-Za-z])S", pattern)
    if found is None or not _FIXED_WIDTH.fullmatch(pattern[: found.start()]):
        return None
    return found.start()


_DATE = {"G": "1,4", "y": "1,6", "M": "1,4", "L": "1,4", "d": "1,2", "D": "1,3"}
_DATE_SHOWN = {"E": "1,4", "F": "1,1", "Q": "1,4", "q": "1,4"}
_TIME = {"a": "1,1", **dict.fromkeys("hHkKms", "1,2"), "S": "1,9"}
_OFFSETS = dict.fromkeys("XxZ", "1,5")

FORMAT_DATE = Patterns({**_DATE, **_DATE_SHOWN}, "uYwWecg")
FORMAT_TIMESTAMP = Patterns({**_DATE, **_DATE_SHOWN, **_TIME, **_OFFSETS, "O": "1,1"}, "uYwWecgABnNpv", gmt=True)
PARSE_DATE = Patterns({**_DATE, **_TIME}, "uYwWEecFQqgABnNpvVzOXxZ")
PARSE_TIMESTAMP = Patterns({**_DATE, **_TIME, **_OFFSETS, "V": "2,2", "z": "1,4"}, "uYwWEecFQqgABnNpvO")
