"""What somebody is told who lacks a right: one error, whatever he has asked for."""

from __future__ import annotations

from collections.abc import Iterable

from ksqlpy.access.grants import Grants, allowed
from ksqlpy.access.principal import Principal
from ksqlpy.access.rights import Need, Right
from ksqlpy.errors import Span, StatementError

__all__ = ["MissingRight", "refusal", "require"]


class MissingRight(StatementError):
    """Somebody has no right to what he asks for. ``need``: the right, and on what."""

    need: Need


def require(
    principal: Principal | None, need: Need, grants: Grants, *, span: Span | None = None, sql: str | None = None
) -> None:
    """Refuses what somebody has no right to; raises StatementError ``missing-right`` (40300)."""
    if principal is not None and not allowed(principal, need.right, need.thing, grants):
        raise refusal(principal, need, span=span, sql=sql)


def refusal(
    principal: Principal,
    need: Need,
    *,
    span: Span | None = None,
    sql: str | None = None,
    similar: Iterable[str] = (),
) -> MissingRight:
    """The error that names the missing right and the thing; the same whether there is such a thing or not.

    ``similar``: names that the principal sees.
    """
    who = principal.name or "nobody"
    right = f"right {need.right.value}" if need.right is not None else "right"
    granted = need.right.value if need.right is not None else "SELECT"
    own = ", ".join(sorted(principal.roles))
    if need.right is Right.ADMIN:
        hint = "the role admin has it"
    elif need.thing.kind == "QUERY":
        hint = f"GRANT {granted} ON what the query writes gives it, with rights on what it reads"
    elif own:
        hint = f"GRANT {granted} ON {need.thing} TO a role gives it; the roles of {who}: {own}"
    else:
        hint = f"{who} has no role; an administrator gives one"
    error = MissingRight(
        "missing-right",
        f"{who} has no {right} on {need.thing}",
        span=span,
        sql=sql,
        hint=hint,
        similar=similar,
        error_code=40300,
    )
    error.need = need
    return error
