"""``help``: a page for every statement, clause, function, property and command of the shell."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

from ksqlpy.completion.names import functions
from ksqlpy.errors import ConfigProblem, similar_names
from ksqlpy.shell.syntax import syntax

__all__ = ["Topic", "clauses", "overview", "page", "topics"]

_SAME = {"LIST": "SHOW", "DELETE": "DELETE FROM"}
"""Words for which the page of another one is shown."""

_WORD = re.compile("[A-Z_]+")
"""A word of the language, as syntax is drawn."""

_KEYS = (
    "Statements end with a semicolon and may span lines. help STATEMENT and help CLAUSE have syntax and an example,"
    " help FUNCTION what a function does. Tab completes, Ctrl-R searches the history, Esc Enter runs a text as it"
    " stands, Ctrl-X Ctrl-E opens it in $EDITOR, F4 changes between the keys of Emacs and vi, Ctrl-C ends a query,"
    " Ctrl-D leaves."
)


@dataclass(frozen=True)
class Topic:
    """A statement or a clause: ``rule`` of the grammar, what it does, and an example that the language accepts.

    ``parts``: other rules, of its parts, whose syntax is shown too; ``also``: other names of it.
    """

    name: str
    rule: str
    about: str
    example: str
    parts: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def syntax(self) -> list[str]:
        """The forms of its rule that have all words of the name; all of them if none has."""
        forms = syntax(self.rule)
        words = set(self.name.split())
        return [f for f in forms if words <= set(_WORD.findall(f))] or forms

    def own_words(self) -> set[str]:
        """The words of the language in its syntax."""
        return {w for form in self.syntax() for w in _WORD.findall(form)}

    def words(self) -> set[str]:
        """Those, and the words in the syntax of its parts."""
        return self.own_words() | {w for form in chain(*map(syntax, self.parts)) for w in _WORD.findall(form)}


@cache
def topics() -> Mapping[str, Topic]:
    """The pages of statements by name."""
    return _read("help.toml")


@cache
def clauses() -> Mapping[str, Topic]:
    """The pages of clauses, and of what else stands in statements, by name."""
    return _read("clauses.toml")


def _read(file: str) -> Mapping[str, Topic]:
    data = tomllib.loads(files("ksqlpy.shell").joinpath(file).read_text(encoding="utf-8"))
    return {
        t["name"]: Topic(
            t["name"],
            t["rule"],
            " ".join(t["about"].split()),
            t["example"],
            tuple(t.get("parts", ())),
            tuple(t.get("also", ())),
        )
        for t in data["topic"]
    }


def overview(commands: Sequence[tuple[str, str]], room: int) -> Iterator[str]:
    """The first page: what there is, in lines of at most ``room`` characters where they can be broken."""
    yield from textwrap.wrap(_KEYS, room)
    yield ""
    yield from textwrap.wrap(", ".join(topics()), room, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield from textwrap.wrap(", ".join(clauses()), room, initial_indent="  ", subsequent_indent="  ")
    yield ""
    width = max(len(usage) for usage, _ in commands)
    for usage, about in commands:
        if width + 4 + 20 > room:
            yield f"  {usage}"
            yield from textwrap.wrap(about, room, initial_indent="      ", subsequent_indent="      ")
        else:
            first, *more = textwrap.wrap(about, max(room - width - 4, 20))
            yield f"  {usage.ljust(width)}  {first}"
            yield from (f"{' ' * (width + 4)}{line}" for line in more)


def page(about: str, commands: Mapping[str, tuple[str, str]], room: int) -> Iterator[str]:
    """The page of one thing, by its name in any case.

    ``commands``: usage and help of the shell's own, by name. Raises ConfigProblem ``no-help``.
    """
    name = " ".join(about.upper().split())
    found = _named(name)
    if not found and name in functions():
        f = functions()[name]
        yield f"{f.name}, {f.kind.lower()} function"
        yield from _wrapped(f.help, room)
        yield from (f"  {f.name}{s}" for s in f.signatures)
        yield f"  Example: {f.example}"
    elif not found and about.lower() in commands:
        usage, text = commands[about.lower()]
        yield usage
        yield from _wrapped(text, room)
    elif found or (found := _with_words(name)):
        for number, topic in enumerate(found):
            if number:
                yield ""
            yield from _topic(topic, room) if len(found) < 4 else _short(topic, room)
    else:
        yield from _property(about, room, [*topics(), *clauses(), *functions(), *commands])


def _named(name: str) -> list[Topic]:
    """The statement of a name, or all statements that begin with it, or the clause."""
    first, _, more = name.partition(" ")
    same = f"{_SAME.get(first, first)} {more}".strip() if name not in topics() else name
    if same in topics() and same.count(" "):
        return [topics()[same]]
    clause = [t for t in clauses().values() if name == t.name or name in t.also]
    return [t for t in topics().values() if t.name == same or t.name.startswith(f"{same} ")] or clause


def _with_words(name: str) -> list[Topic]:
    """What has all words in its name; else in its own syntax, clauses first; else in that of its parts."""
    words = set(name.split())
    both = [*clauses().values(), *topics().values()]
    for pages, of in (
        (both, lambda t: t.name.split()),
        (clauses().values(), Topic.own_words),
        (topics().values(), Topic.own_words),
        (clauses().values(), Topic.words),
        (topics().values(), Topic.words),
    ):
        found = [t for t in pages if words <= {*of(t)}]
        if found:
            return found
    return []


def _topic(topic: Topic, room: int) -> Iterator[str]:
    yield topic.name
    yield from _wrapped(topic.about, room)
    yield ""
    for form in topic.syntax():
        yield from textwrap.wrap(form, room, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
    for part in topic.parts:
        first, *more = syntax(part)
        lines = [f"{part.replace('_', ' ')}: {first}", *(f"  or {form}" for form in more)]
        for line in lines:
            yield from textwrap.wrap(line, room, initial_indent="    ", subsequent_indent="        ")
    yield ""
    yield from _example(topic, room)


def _short(topic: Topic, room: int) -> Iterator[str]:
    yield topic.name
    yield from _wrapped(topic.about, room)
    yield from _example(topic, room)


def _example(topic: Topic, room: int) -> Iterator[str]:
    yield "  Example:"
    yield from textwrap.wrap(topic.example, room, initial_indent="    ", subsequent_indent="      ")


def _property(about: str, room: int, known: Sequence[str]) -> Iterator[str]:
    from ksqlpy.config import PROPERTIES

    found = PROPERTIES.get(about.strip("'").lower())
    if found is None:
        similar = similar_names(about, [*known, *PROPERTIES])
        raise ConfigProblem("no-help", f"there is no help about {about!r}", similar=similar, hint="help lists it all")
    yield f"{found.name}, property"
    yield from _wrapped(found.help, room)
    yield f"  {f'by default {found.default}' if found.default else 'no default'}; " + (
        f"SET '{found.name}' = '…'; changes it" if found.session else "set when the server starts"
    )


def _wrapped(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, initial_indent="  ", subsequent_indent="  ")
