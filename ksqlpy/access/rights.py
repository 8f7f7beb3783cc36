"""What may be done with what: rights, the things that they are on, and what a statement needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Literal

__all__ = ["EVERYTHING", "GRANTABLE", "Kind", "Need", "Right", "Thing"]


class Right(Enum):
    """A right. ADMIN is to change who may do what; only the role ``admin`` has it."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"
    OPERATE = "OPERATE"
    ADMIN = "ADMIN"


Kind = Literal["SOURCE", "TOPIC"]

GRANTABLE: Mapping[Kind, tuple[Right, ...]] = MappingProxyType(
    {
        "SOURCE": tuple(r for r in Right if r is not Right.ADMIN),
        "TOPIC": (Right.SELECT, Right.INSERT, Right.DROP),
    }
)
"""What GRANT gives on streams, tables and types, and on topics; ALL stands for all of these."""


@dataclass(frozen=True, slots=True)
class Thing:
    """What a right is on: a stream, table or type (``SOURCE``), a topic, or all that there is (``SERVER``).

    ``QUERY``: a query, by its id, of somebody who must not know whether there is one; nobody has a right on it.
    """

    kind: Literal["SOURCE", "TOPIC", "SERVER", "QUERY"]
    name: str = ""

    @classmethod
    def source(cls, name: str) -> Thing:
        """A stream, table or type."""
        return cls("SOURCE", name)

    @classmethod
    def topic(cls, name: str) -> Thing:
        """A topic."""
        return cls("TOPIC", name)

    def __str__(self) -> str:
        """As GRANT names it."""
        before = {"SOURCE": self.name, "TOPIC": f"TOPIC '{self.name}'", "SERVER": "ALL", "QUERY": f"query {self.name}"}
        return before[self.kind]


EVERYTHING = Thing("SERVER")


@dataclass(frozen=True, slots=True)
class Need:
    """A right that a statement needs on a thing; None: any right, by which the thing is seen."""

    right: Right | None
    thing: Thing

    @classmethod
    def on(cls, right: Right | None, *sources: str) -> list[Need]:
        """The same right on several streams or tables."""
        return [cls(right, Thing.source(name)) for name in sources]
