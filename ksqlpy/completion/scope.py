"""The sources that a statement names, as far as it is written: behind FROM, JOIN and INTO, and the queries of WITH."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ksqlpy.completion.names import Field, Names, Source
from ksqlpy.sql.tokens import IDENTIFIER, RESERVED, STRING, WORD, Token

__all__ = ["Scope", "scope_of"]

_NO_ALIAS = frozenset(("EMIT", "PARTITION", "UNION", "ORDER"))
"""Plain words that rather begin a clause than being the alias of a source."""

_CONDITIONS = frozenset(("WHERE", "ON", "HAVING", "WHEN"))
_OTHERS = frozenset(
    ("FROM", "JOIN", "BY", "LIMIT", "EMIT", "SELECT", "VALUES", "WITH", "THEN", "ELSE", "SET", "WITHIN", "WINDOW")
)


@dataclass(frozen=True)
class Scope:
    """``aliases``: the sources by the name that the statement has for them, None where nothing is known of one.

    ``common``: queries of WITH; ``conditional``: whether the cursor stands in a condition, ``joining``: in that of ON;
    ``joined``: the source that is joined there.
    """

    aliases: dict[str, Source | None]
    common: tuple[str, ...] = ()
    conditional: bool = False
    joining: bool = False
    joined: str = ""

    @property
    def empty(self) -> bool:
        """Whether the statement names no source yet."""
        return not self.aliases

    @property
    def many(self) -> bool:
        """Whether columns may need the name of their source."""
        return len(self.aliases) > 1

    def columns(self) -> Iterator[tuple[Field, str]]:
        """All columns; with the name of their source where several have one of that name, and in ON."""
        counts: dict[str, int] = {}
        for source in self.aliases.values():
            for column in (source.columns if source else None) or ():
                counts[column.name] = counts.get(column.name, 0) + 1
        for alias, source in self.aliases.items():
            for column in (source.columns if source else None) or ():
                yield column, alias if counts[column.name] > 1 or (self.joining and self.many) else ""

    def joins(self) -> Iterator[tuple[str, Field, str, Field]]:
        """Conditions that may join: source and column, joined source and column; likely ones first.

        Types are the same, and of a table it is the primary key, as the language wants it.
        """
        found = []
        joined = self.aliases.get(self.joined)
        for alias, source in self.aliases.items():
            if source is None or joined is None or alias == self.joined:
                continue
            for theirs in joined.columns or ():
                for ours in source.columns or ():
                    fits = ours.type == theirs.type and (theirs.key or joined.kind != "TABLE")
                    if fits and (ours.key or theirs.key):
                        found.append((_likelihood(ours, theirs, self.joined, joined), alias, ours, self.joined, theirs))
        found.sort(key=lambda f: f[0])
        yield from ((a, o, j, t) for _, a, o, j, t in found)

    def fields(self, tokens: Sequence[Token]) -> tuple[Field, ...]:
        """What can follow tokens that end in ``.`` or ``->``: columns of the source, fields of the STRUCT."""
        if tokens[-1].text == ".":
            source = self.aliases.get(_name(tokens[-2])) if len(tokens) > 1 else None
            return (source.columns if source else None) or ()
        steps: list[str] = []  # from the last to the first: names, and [] for an index
        at = len(tokens) - 2
        while at >= 0:
            if tokens[at].text == "]" and tokens[at].token_type is not STRING:
                depth = 0
                while at >= 0:
                    depth += {"]": 1, "[": -1}.get(tokens[at].text, 0)
                    at -= 1
                    if depth == 0:
                        break
                steps.append("[]")
                continue
            if tokens[at].token_type not in (WORD, IDENTIFIER):
                return ()
            steps.append(_name(tokens[at]))
            if at == 0 or tokens[at - 1].text not in ("->", "."):
                break
            if tokens[at - 1].text == ".":
                return _walk(self._of(_name(tokens[at - 2])) if at > 1 else (), steps)
            at -= 2
        return _walk(tuple(c for c, _ in self.columns()), steps)

    def _of(self, alias: str) -> tuple[Field, ...]:
        source = self.aliases.get(alias)
        return (source.columns if source else None) or ()


def _likelihood(ours: Field, theirs: Field, alias: str, joined: Source) -> int:
    """0: it names the joined source and its column, as ZONE_ID of ZONES; 1: a column of its name; 2: others."""
    named = [name.upper().removesuffix("S") for name in (joined.name, alias) if len(name) > 1]
    if any(ours.name.upper() in (f"{n}_{theirs.name}".upper(), f"{n}{theirs.name}".upper(), n) for n in named):
        return 0
    if ours.name == theirs.name:
        return 1
    return 2 if ours.name.upper().endswith(theirs.name.upper()) else 3


def _walk(columns: tuple[Field, ...], steps: list[str]) -> tuple[Field, ...]:
    here: Field | None = None
    fields = columns
    for step in reversed(steps):
        here = (here.item if here else None) if step == "[]" else next((f for f in fields if f.name == step), None)
        if here is None:
            return ()
        fields = here.fields
    return fields


def scope_of(tokens: Sequence[Token], rest: Sequence[Token], names: Names) -> Scope:
    """What a statement of these tokens before and behind the cursor names."""
    aliases: dict[str, Source | None] = {}
    whole = [*tokens, *rest]
    common = tuple(_common(whole))
    for i, token in enumerate(whole[:-1]):
        if token.token_type in (STRING, IDENTIFIER) or token.text.upper() not in ("FROM", "JOIN", "INTO"):
            continue
        if whole[i + 1].token_type not in (WORD, IDENTIFIER):
            continue
        name = alias = _name(whole[i + 1])
        behind = whole[i + 2 : i + 4]
        if behind and behind[0].text.upper() == "AS":
            behind = behind[1:]
        if behind and behind[0].token_type in (WORD, IDENTIFIER) and behind[0].text.upper() not in _NO_ALIAS:
            alias = _name(behind[0])
        aliases[alias] = names.sources.get(name)
    words = [t.text.upper() for t in tokens if t.token_type in (WORD, RESERVED)]
    clause = next((w for w in reversed(words) if w in _CONDITIONS or w in _OTHERS), "")
    joined = next(reversed(scope_of(tokens, (), names).aliases), "") if rest else next(reversed(aliases), "")
    return Scope(aliases, common, clause in _CONDITIONS, clause == "ON", joined)


def _common(tokens: Sequence[Token]) -> Iterator[str]:
    """The names of ``WITH name AS (``, and of ``, name AS (`` behind it."""
    for i, token in enumerate(tokens[:-3]):
        if token.text.upper() in ("WITH", ",") and tokens[i + 2].text.upper() == "AS" and tokens[i + 3].text == "(":
            yield _name(tokens[i + 1])


def _name(token: Token) -> str:
    return token.text if token.token_type is IDENTIFIER else token.text.upper()
