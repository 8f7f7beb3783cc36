"""CREATE ROLE, DROP ROLE, GRANT and REVOKE: who may do what, entries of the command log like all other definitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from ksqlpy.access import BUILT_IN, EVERYTHING, GRANTABLE, Grants, Need, On, Right, allowed, of_built_in, role_name
from ksqlpy.analysis import Text
from ksqlpy.errors import similar_names
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements.entry import Effect, Nothing, Statement, Table, free
from ksqlpy.sql import Parsed, nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["STATEMENTS", "check_role_seen", "granted", "roles_seen"]


def _administers(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    return [Need(Right.ADMIN, EVERYTHING)]


def _changed(sandbox: Sandbox, grants: Grants) -> None:
    sandbox.catalog = replace(sandbox.catalog, grants=grants)


# ---------------------------------------------------------------- roles


def _own_role(node: exp.Expr, sandbox: Sandbox, text: Text) -> str:
    """The name of a role of CREATE ROLE; raises AnalysisProblem ``built-in-role`` or ``unknown-role``."""
    role, known = role_name(node.this), sandbox.catalog.grants.roles
    if role in BUILT_IN:
        hint = "CREATE ROLE makes a role whose rights are granted"
        text.refuse("built-in-role", f"the rights of role {role} are built in and stay as they are", node, hint=hint)
    if role not in known:
        similar = similar_names(role, known)
        text.refuse("unknown-role", f"there is no role {role}", node, similar=similar, hint="SHOW ROLES lists them")
    return role


def _check_create(parsed: Parsed, sandbox: Sandbox) -> str | Nothing:
    node, text = parsed.node, Text(parsed.sql)
    role, grants = role_name(node.this.this), sandbox.catalog.grants
    if role in grants.roles and node.args.get("exists"):
        return Nothing(f"role {role} exists already, nothing is done")
    if role in grants.roles or role in BUILT_IN:
        hint = "choose another name" if role in BUILT_IN else "DROP ROLE it first, or write IF NOT EXISTS"
        text.refuse("already-exists", f"role {role} exists already", node.this, hint=hint)
    _changed(sandbox, grants.with_role(role))
    return role


def _create(parsed: Parsed, role: str, context: Context) -> Entity:
    sequence = context.catalog_service.make_role(role)
    return entities.status(parsed.text, f"role/`{role}`/create", f"Role {role} created", sequence)


def _check_drop(parsed: Parsed, sandbox: Sandbox) -> str | Nothing:
    node = parsed.node
    role = role_name(node.this.this)
    if node.args.get("exists") and role not in sandbox.catalog.grants.roles and role not in BUILT_IN:
        return Nothing(f"there is no role {role}, nothing is done")
    role = _own_role(node.this, sandbox, Text(parsed.sql))
    _changed(sandbox, sandbox.catalog.grants.without_role(role))
    return role


def _drop(parsed: Parsed, role: str, context: Context) -> Entity:
    sequence = context.catalog_service.drop_role(role)
    context.reads.end_forbidden(context.catalog_service.catalog.grants)
    return entities.status(parsed.text, f"role/`{role}`/drop", f"Role {role} was dropped", sequence)


# ---------------------------------------------------------------- grants


@dataclass(frozen=True)
class _Given:
    """Rights that a role is to have, or to have no more; ``unknown``: there is nothing of that name."""

    role: str
    rights: frozenset[Right]
    on: On
    unknown: bool = False

    @property
    def text(self) -> str:
        return ", ".join(r.value for r in Right if r in self.rights)


def _given(parsed: Parsed, sandbox: Sandbox) -> _Given:
    node, text = parsed.node, Text(parsed.sql)
    role = _own_role(node.args["role"], sandbox, text)
    place = node.this
    known = GRANTABLE[place.args["kind"]]
    words = node.args["rights"].split(", ")
    rights = frozenset(known) if words == ["ALL"] else frozenset(map(Right, words))
    if not rights <= set(known):
        wrong = next(w for w in words if Right(w) not in known)
        hint = f"there are {', '.join(r.value for r in known)}"
        text.refuse("bad-right", f"there is no right {wrong} on topics", place, hint=hint)
    name, like = place.args.get("this"), place.args.get("like")
    if like is not None and not like.name:
        text.refuse("bad-name", "the pattern of LIKE is empty", like, hint="ON ALL is on all; % is any characters")
    on = On(place.args["kind"], None if name is None else name.name, None if like is None else like.name)
    unknown = on.kind == "SOURCE" and on.name is not None and on.name not in sandbox.catalog.sources
    return _Given(role, rights, on, unknown)


def _check_grant(parsed: Parsed, sandbox: Sandbox) -> _Given:
    given = _given(parsed, sandbox)
    _changed(sandbox, sandbox.catalog.grants.granted(given.role, given.rights, given.on))
    return given


def _grant(parsed: Parsed, given: _Given, context: Context) -> Entity:
    sequence = context.catalog_service.grant(given.role, given.rights, given.on)
    message = f"Role {given.role} has {given.text} on {given.on}"
    warnings = [f"there is no {given.on} yet: the grant is for what will have the name"] if given.unknown else []
    return entities.status(parsed.text, f"role/`{given.role}`/grant", message, sequence, warnings=warnings)


def _check_revoke(parsed: Parsed, sandbox: Sandbox) -> _Given:
    """Raises AnalysisProblem ``not-granted`` where nothing of it is granted on just that."""
    given, grants = _given(parsed, sandbox), sandbox.catalog.grants
    rights = grants.of(given.role).get(given.on, frozenset()) & given.rights
    if not rights:
        Text(parsed.sql).refuse(
            "not-granted",
            f"role {given.role} has no grant of {given.text} on {given.on}",
            parsed.node.this,
            hint=f"SHOW GRANTS FOR {given.role} lists them; REVOKE names what they are on as GRANT did",
        )
    _changed(sandbox, grants.revoked(given.role, rights, given.on))
    return replace(given, rights=rights)


def _revoke(parsed: Parsed, given: _Given, context: Context) -> Entity:
    sequence = context.catalog_service.revoke(given.role, given.rights, given.on)
    context.reads.end_forbidden(context.catalog_service.catalog.grants)
    message = f"Role {given.role} has no grant of {given.text} on {given.on} any more"
    return entities.status(parsed.text, f"role/`{given.role}`/revoke", message, sequence)


# ---------------------------------------------------------------- SHOW


def roles_seen(context: Context) -> list[str]:
    """The roles that the principal may know of: administrators all, others their own."""
    known = sorted(context.catalog.grants.roles)
    every = [*BUILT_IN, *known]
    if context.may(Right.ADMIN, EVERYTHING):
        return every
    assert context.principal is not None
    own = set(map(role_name, context.principal.roles))
    return [r for r in every if r in own]


def check_role_seen(node: exp.Expr, parsed: Parsed, sandbox: Sandbox) -> None:
    """Refuses to show the grants of a role that is not the principal's, or that is not there."""
    role, principal = role_name(node.this), sandbox.principal
    if principal is None or role not in map(role_name, principal.roles):
        sandbox.ask([Need(Right.ADMIN, EVERYTHING)], parsed)
    known = [*BUILT_IN, *sandbox.catalog.grants.roles]
    if role not in known:
        administers = allowed(principal, Right.ADMIN, EVERYTHING, sandbox.catalog.grants)
        similar = similar_names(role, known) if administers else ()
        hint = "SHOW ROLES lists them"
        Text(parsed.sql).refuse("unknown-role", f"there is no role {role}", node, similar=similar, hint=hint)


def granted(roles: Iterable[str], grants: Grants) -> list[tuple[str, list[str], str]]:
    """What is granted to roles: role, rights and thing, in the order in which it was granted first."""
    return [
        (role, [r.value for r in Right if r in g.rights], str(g.on))
        for role in roles
        for g in (of_built_in(role) if role in BUILT_IN else grants.roles.get(role, ()))
    ]


STATEMENTS: Table = {
    nodes.CreateRole: Statement[str](
        "CREATE ROLE", _check_create, _create, Effect.CATALOG, migrates=True, needs=free, first=_administers
    ),
    nodes.DropRole: Statement[str](
        "DROP ROLE", _check_drop, _drop, Effect.CATALOG, migrates=True, needs=free, first=_administers
    ),
    nodes.Grant: Statement[_Given](
        "GRANT", _check_grant, _grant, Effect.CATALOG, migrates=True, needs=free, first=_administers
    ),
    nodes.Revoke: Statement[_Given](
        "REVOKE", _check_revoke, _revoke, Effect.CATALOG, migrates=True, needs=free, first=_administers
    ),
}
