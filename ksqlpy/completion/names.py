"""What there is to name: sources with their columns, functions, topics and the rest, as completion and help need them.

Values only: the shell has them of the server's answers, the server of its catalog.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files

__all__ = ["Field", "Function", "Names", "Source", "functions"]


@dataclass(frozen=True)
class Field:
    """A column, or a field of a STRUCT: ``type`` as SQL writes it; ``fields``: of a STRUCT; ``item``: what it holds."""

    name: str
    type: str
    fields: tuple[Field, ...] = ()
    item: Field | None = None
    key: bool = False


@dataclass(frozen=True)
class Source:
    """A stream or table; ``columns`` is None as long as nobody has asked for them."""

    name: str
    kind: str
    topic: str = ""
    columns: tuple[Field, ...] | None = None


@dataclass(frozen=True)
class Function:
    """A function: SCALAR, AGGREGATE or TABLE; ``signatures``: as ``(STRING, INT) → STRING``."""

    name: str
    kind: str
    signatures: tuple[str, ...] = ()
    help: str = ""
    example: str = ""


@dataclass(frozen=True)
class Names:
    """All of it at one time.

    ``roles``: whether each is built in; ``properties``: those of a session with their help; ``statements``: that
    ``help`` knows; ``commands``: the shell's own, with ``arguments`` by name.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    topics: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, bool] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    statements: Sequence[str] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[tuple[Field, str], ...]:
        """The columns of all sources by name, each once, with the source that has it or how many have."""
        found: dict[str, tuple[Field, list[str]]] = {}
        for source in self.sources.values():
            for column in source.columns or ():
                found.setdefault(column.name, (column, []))[1].append(source.name)
        return tuple((c, s[0] if len(s) == 1 else f"{len(s)} sources") for c, s in found.values())

    def with_variables(self, variables: Mapping[str, str]) -> Names:
        """These names with the variables of a session; what was worked out of the sources stays."""
        names = replace(self, variables=variables)
        names.__dict__.update({k: v for k, v in self.__dict__.items() if k == "columns"})
        return names

    def with_source(self, source: Source) -> Names:
        """These names and a source that is known now."""
        return replace(self, sources={**self.sources, source.name: source})


@cache
def functions() -> Mapping[str, Function]:
    """The functions of the language, from ``grammar/functions.toml``."""
    data = tomllib.loads(files("ksqlpy.grammar").joinpath("functions.toml").read_text(encoding="utf-8"))
    return {
        f["name"]: Function(
            f["name"],
            f["kind"],
            tuple(f"{s['takes']} → {s['returns']}" if "returns" in s else s["takes"] for s in f["signatures"]),
            f["help"],
            f["example"],
        )
        for f in data["function"]
    }
