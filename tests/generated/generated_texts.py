"""Random texts that mean something to somebody: to SQL, JSON, CSV, patterns, formats, Spark, Java, Python, a shell."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

__all__ = ["ROOM", "distinct", "like", "name", "pattern", "quote", "text"]

_PIECES = (
    *map(chr, range(0x20)), "\x7f", "\x85", "\xa0", "\u2028", "\u200b", "\ufeff", "\ufffd", "\uffff",
    *"'`\"\\$%_{}()[]<>|?*+^&=#@!~.,:;-/ ", *"'`\"\\$%_. ", "''", "``", '""', "\\\\", "\\'", '\\"', "\\`",
    "\\n", "\\u0041", "\\101", "\\Z", "\\%", "\\_", "\\Q", "\\E", "\\$", "$1", "$0", "${1}", "$$",
    "{}", "{0}", "{x!r}",
    "${x}", "${env:HOME}", "${sys:user.home}", "${spark.master}", "${system:user.name}",
    "${hiveconf:a}", "${jndi:ldap:x}",
    "{{APP_ID}}", "%s", "%n", "%d", "%(a)s", "%41", "%00", "&amp;", "--", "/*", "*/", "//",
    "\r\n", "\\\n", "[0-9]+", ".*",
    "(?i)", "null", "NULL", "true", "0", "1e5", "NaN", "-1", "X'41'", "r'a'", "U&'x'", "a", "Z",
    "key", "value", "col", "x",
    "__ts", "__raw", "__x", "$61", "$", "ksqlpy_text('61')", "ksqlpy", "é", "É", "ß", "İ", "\u0131",
    "e\u0301", "Ω", "汉字",
    "😀", "\U0001d4b3", "👩\u200d👧", "אב", "\u202e", "\x1b[31m", "<b>", "$(ls)", "`ls`", ";drop",
    "' OR ''='", "', 'x', '", "` AS `",
    "*/ 'x", "a.b", "a,b", "a:b", "a=b", "a b", "../x", "file:///x", "C:\\x", "@type", "->", "=>", ":=", "||",
)  # fmt: skip
_MOST, _LONG = 9, 3000
ROOM = 3_000
"""Characters of texts that a statement gets: it repeats them, and the command log takes 1 MiB."""


def text(rng: random.Random) -> str:
    """Mostly some pieces; one of two hundred is long, and some are empty."""
    count = rng.randint(_MOST, _LONG) if rng.random() < 0.005 else rng.randint(0, _MOST)
    return "".join(rng.choices(_PIECES, k=count))


def distinct(
    rng: random.Random, count: int, *, fits: Callable[[str], bool] = bool, any_case: bool = False
) -> list[str]:
    """So many different texts that fit; with ``any_case`` different in any case, since JSON's names are read so.

    Long ones come only as long as all together have :data:`ROOM` characters.
    """
    room = ROOM

    def texts() -> Iterator[str]:
        while True:
            made = text(rng)
            if fits(made):
                yield made

    found: dict[str, str] = {}
    for made in texts():
        if len(made) > max(room, _MOST * 16):
            continue
        room -= len(made)
        found.setdefault(made.casefold().upper() if any_case else made, made)
        if len(found) == count:
            break
    return list(found.values())


def quote(value: str) -> str:
    """As a literal of the language."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """As a name of the language."""
    return "`" + value.replace("`", "``") + "`"


def like(value: str, escape: str) -> str:
    """A pattern of LIKE that only this text fits."""
    return "".join(escape + c if c in ("%", "_", escape) else c for c in value)


def pattern(value: str) -> str:
    """A regular expression of Java that only this text fits."""
    return "".join("\\" + c if c.isascii() and not c.isalnum() else c for c in value)
