"""Who may do what: roles, what is granted to them, and the one question that everything asks (:func:`allowed`).

The roles of a principal come with its login. What a role may is known here: of the built-in ones by
:data:`BUILT_IN`, of all others by the grants of the command log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ksqlpy.access.principal import Principal
from ksqlpy.access.rights import GRANTABLE, Kind, Right, Thing

__all__ = ["BUILT_IN", "Grant", "Grants", "Held", "On", "allowed", "of_built_in", "role_name"]

_READS = frozenset({Right.SELECT})
_WRITES = _READS | {Right.INSERT}

BUILT_IN: Mapping[str, frozenset[Right]] = MappingProxyType(
    {
        "READER": _READS,
        "WRITER": _WRITES,
        "DEVELOPER": _WRITES | {Right.CREATE, Right.ALTER, Right.DROP},
        "OPERATOR": frozenset({Right.OPERATE}),
        "ADMIN": frozenset(Right),
    }
)
"""The rights of the built-in roles, on all streams, tables, types and topics."""


def role_name(written: str) -> str:
    """The name of a role as it is compared: upper and lower case are the same."""
    return written.upper()


@dataclass(frozen=True, slots=True)
class On:
    """What a grant is on: the one of that name, those whose names are ``like`` a pattern, or all of a kind.

    In a pattern % stands for any characters; upper and lower case are the same. All else stands for itself, _ too,
    since names are full of it.
    """

    kind: Kind
    name: str | None = None
    like: str | None = None

    @property
    def all(self) -> bool:
        """Whether it is on all of its kind."""
        return self.name is None and (self.like is None or set(self.like) == {"%"})

    def __str__(self) -> str:
        """As GRANT names it."""
        if self.name is not None:
            return str(Thing(self.kind, self.name))
        every = "ALL" if self.kind == "SOURCE" else "ALL TOPICS"
        if self.like is None:
            return every
        quoted = self.like.replace("'", "''")
        return f"{every} LIKE '{quoted}'"


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights on something, as a role has them."""

    rights: frozenset[Right]
    on: On


def of_built_in(role: str) -> list[Grant]:
    """What a built-in role may, as if it was granted."""
    grants = (Grant(BUILT_IN[role] & set(rights), On(kind)) for kind, rights in GRANTABLE.items())
    return [g for g in grants if g.rights]


class Held:
    """The rights of somebody with several roles, made so that asking is quick."""

    def __init__(self, grants: Iterable[Grant], admin: bool) -> None:
        self._admin = admin
        self._all: dict[str, set[Right]] = {"SOURCE": set(), "TOPIC": set()}
        self._named: dict[tuple[str, str], set[Right]] = {}
        self._like: list[tuple[str, re.Pattern[str], frozenset[Right]]] = []
        for g in grants:
            if g.on.all:
                self._all[g.on.kind] |= g.rights
            elif g.on.name is not None:
                self._named.setdefault((g.on.kind, g.on.name), set()).update(g.rights)
            else:
                parts = (re.escape(p) for p in (g.on.like or "").split("%"))
                pattern = re.compile(".*".join(parts), re.IGNORECASE | re.DOTALL)
                self._like.append((g.on.kind, pattern, g.rights))

    def rights_on(self, thing: Thing) -> set[Right]:
        """All that may be done with the thing."""
        if thing.kind == "SERVER":
            return self._all["SOURCE"] | ({Right.ADMIN} if self._admin else set())
        if thing.kind == "QUERY":
            return set()
        found = self._all[thing.kind] | self._named.get((thing.kind, thing.name), set())
        for kind, pattern, rights in self._like:
            if kind == thing.kind and pattern.fullmatch(thing.name):
                found |= rights
        if thing.kind == "TOPIC":  # who operates all sees all topics
            found |= self._all["SOURCE"] & {Right.OPERATE}
        return found

    @property
    def nothing(self) -> bool:
        """Whether there is no right at all."""
        return not (any(self._all.values()) or self._named or self._like)

    @property
    def sees_all(self) -> bool:
        """Whether no stream, table or query is hidden."""
        return bool(self._all["SOURCE"])


@dataclass(frozen=True)
class Grants:
    """The roles of CREATE ROLE and what is granted to each; an immutable snapshot."""

    roles: Mapping[str, tuple[Grant, ...]] = field(default_factory=lambda: MappingProxyType({}))
    _held: dict[frozenset[str], Held] = field(default_factory=dict, init=False, repr=False, compare=False)

    def with_role(self, role: str) -> Grants:
        """A snapshot with this role, which has no rights if it is new."""
        return self._changed(role, self.roles.get(role, ()))

    def without_role(self, role: str) -> Grants:
        """A snapshot without this role and what is granted to it."""
        return replace(self, roles=MappingProxyType({r: g for r, g in self.roles.items() if r != role}))

    def granted(self, role: str, rights: frozenset[Right], on: On) -> Grants:
        """A snapshot in which the role has these rights, too."""
        own = self.of(role)
        own[on] = own.get(on, frozenset()) | rights
        return self._changed(role, tuple(Grant(r, o) for o, r in own.items()))

    def revoked(self, role: str, rights: frozenset[Right], on: On) -> Grants:
        """A snapshot in which these rights are not granted on that any more; what is granted on more stays."""
        own = self.of(role)
        own[on] = own.get(on, frozenset()) - rights
        return self._changed(role, tuple(Grant(r, o) for o, r in own.items() if r))

    def of(self, role: str) -> dict[On, frozenset[Right]]:
        """What is granted to a role of CREATE ROLE."""
        return {g.on: g.rights for g in self.roles.get(role, ())}

    def _changed(self, role: str, grants: tuple[Grant, ...]) -> Grants:
        return replace(self, roles=MappingProxyType({**self.roles, role: grants}))

    def held(self, roles: frozenset[str]) -> Held:
        """The rights of somebody with these roles; a role that is not known gives none."""
        found = self._held.get(roles)
        if found is None:
            names = {role_name(r) for r in roles}
            own = [g for r in names for g in self.roles.get(r, ())]
            built_in = [g for r in names & BUILT_IN.keys() for g in of_built_in(r)]
            found = Held([*built_in, *own], admin="ADMIN" in names)
            if len(self._held) >= _MOST:
                self._held.clear()
            self._held[roles] = found
        return found


_MOST = 1000
"""Sets of roles whose rights are kept ready."""


def allowed(principal: Principal | None, right: Right | None, thing: Thing, grants: Grants) -> bool:
    """Whether somebody has a right on something; with None any right, by which it is seen.

    Without a principal there is no login, and everything is allowed.
    """
    if principal is None:
        return True
    rights = grants.held(principal.roles).rights_on(thing)
    return bool(rights) if right is None else right in rights
