"""``sasl.jaas.config`` of Java's clients, taken apart and put together.

Syntax: ``class flag name="value" …;``, as Kafka's ``JaasConfig`` reads it with Java's StreamTokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ksqlpy.errors import ConfigProblem

__all__ = ["Login", "jaas_text", "read_jaas"]

_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|([A-Za-z0-9_.$/+:@-]+)|([=;]))""")
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


@dataclass(frozen=True, repr=False)
class Login:
    """A login module and its options; not shown, since they hold passwords."""

    module: str
    options: Mapping[str, str]


def read_jaas(text: str) -> Login:
    """Takes it apart; raises ConfigProblem ``invalid-property``, without anything of the text."""
    tokens = list(_tokens(text))
    if len(tokens) < 3 or tokens[-1] != (";", True) or tokens[1][0].lower() not in ("required", "requisite"):
        raise _wrong()
    options: dict[str, str] = {}
    rest = tokens[2:-1]
    for name, equals, value in zip(rest[::3], rest[1::3], rest[2::3], strict=False):
        if name[1] or equals != ("=", True) or value[1]:
            raise _wrong()
        options[name[0]] = value[0]
    if len(rest) % 3:
        raise _wrong()
    return Login(tokens[0][0], options)


def _tokens(text: str) -> list[tuple[str, bool]]:
    """The words, and whether each is a sign."""
    found, at, text = [], 0, text.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _wrong()
        at = token.end()
        double, single, word, sign = token.groups()
        quoted = double if double is not None else single
        found.append((_plain(quoted) if quoted is not None else word or sign, sign is not None))
    return found


def _plain(quoted: str) -> str:
    def one(escape: re.Match[str]) -> str:
        what = escape[1]
        return chr(int(what, 8)) if what[0] in "01234567" else _LETTERS.get(what, what)

    return _ESCAPE.sub(one, quoted)


def _wrong() -> ConfigProblem:
    return ConfigProblem(
        "invalid-property",
        'sasl.jaas.config is not one login module: class required name="value" … ;',
        hint="values stand between quotes, and ; at the end",
    )


def jaas_text(module: str, options: Mapping[str, str]) -> str:
    """The inverse of :func:`read_jaas`."""
    return " ".join([module, "required", *(f"{name}={_quoted(value)}" for name, value in options.items())]) + ";"


def _quoted(value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{text}"'
