"""What is allowed by which grants."""

from __future__ import annotations

import pytest

from ksqlpy.access import BUILT_IN, EVERYTHING, OPEN, Grants, On, Right, Thing, allowed
from tests.access.engine import somebody

SELECT = frozenset({Right.SELECT})


def given(on: On, rights: frozenset[Right] = SELECT) -> Grants:
    return Grants().with_role("TEAM").granted("TEAM", rights, on)


@pytest.mark.parametrize(
    ("on", "name", "reached"),
    [
        (On("SOURCE", "S"), "S", True),
        (On("SOURCE", "S"), "s", False),
        (On("SOURCE", "S"), "SS", False),
        (On("SOURCE"), "S", True),
        (On("SOURCE", like="%"), "S", True),
        (On("SOURCE", like="pay_%"), "PAY_IN", True),
        (On("SOURCE", like="pay_%"), "PAYROLL", False),
        (On("SOURCE", like="pay_%"), "X_PAY_IN", False),
        (On("SOURCE", like="pay_%"), "PAY_", True),
        (On("SOURCE", like="%_in"), "PAY_IN", True),
        (On("SOURCE", like="%_in"), "PAY_INN", False),
        (On("SOURCE", like="p%y%n"), "PAY\nIN", True),
        (On("SOURCE", like="p.y"), "PAY", False),
        (On("SOURCE", like="p.y"), "P.Y", True),
        (On("SOURCE", like="[a-z]%"), "PAY", False),
        (On("SOURCE", like=""), "", True),
        (On("SOURCE", like=""), "S", False),
        (On("TOPIC"), "S", False),
        (On("TOPIC", "S"), "S", False),
        (On("TOPIC", like="%"), "S", False),
    ],
)
def test_a_grant_reaches_what_it_names(on: On, name: str, reached: bool) -> None:
    assert allowed(somebody("team"), Right.SELECT, Thing.source(name), given(on)) is reached
    assert allowed(somebody("team"), None, Thing.source(name), given(on)) is reached
    assert not allowed(somebody("team"), Right.INSERT, Thing.source(name), given(on))
    assert not allowed(somebody(), None, Thing.source(name), given(on))


def test_the_rights_of_several_roles_add_up() -> None:
    grants = given(On("SOURCE", "A")).with_role("MORE").granted("MORE", frozenset({Right.INSERT}), On("SOURCE", "B"))
    both = somebody("Team", "MORE", "unheard of")
    assert allowed(both, Right.SELECT, Thing.source("A"), grants) and allowed(
        both, Right.INSERT, Thing.source("B"), grants
    )
    assert not allowed(both, Right.INSERT, Thing.source("A"), grants)
    assert allowed(somebody("team", "writer"), Right.INSERT, Thing.source("A"), grants)


def test_what_is_revoked_is_gone_and_nothing_else() -> None:
    grants = given(On("SOURCE", "A"), frozenset({Right.SELECT, Right.DROP})).granted(
        "TEAM", SELECT, On("SOURCE", like="a%")
    )
    grants = grants.revoked("TEAM", SELECT, On("SOURCE", "A"))
    assert allowed(somebody("team"), Right.SELECT, Thing.source("A"), grants)  # by the pattern
    grants = grants.revoked("TEAM", SELECT, On("SOURCE", like="a%"))
    assert not allowed(somebody("team"), Right.SELECT, Thing.source("A"), grants)
    assert allowed(somebody("team"), Right.DROP, Thing.source("A"), grants)
    assert not allowed(somebody("team"), None, Thing.source("A"), grants.without_role("TEAM"))


def test_without_login_all_is_allowed() -> None:
    for principal in (None, OPEN, somebody("admin")):
        assert all(allowed(principal, right, EVERYTHING, Grants()) for right in (*Right, None))
    assert not any(allowed(somebody(), right, EVERYTHING, Grants()) for right in (*Right, None))


def test_only_administrators_change_who_may_do_what() -> None:
    having = {role for role in BUILT_IN if allowed(somebody(role.lower()), Right.ADMIN, EVERYTHING, Grants())}
    assert having == {"ADMIN"}
    everything = given(On("SOURCE"), frozenset(Right) - {Right.ADMIN})
    assert not allowed(somebody("team"), Right.ADMIN, EVERYTHING, everything)
    # A role of that name that somebody has made, as by a garbled entry, is not that of administrators.
    assert not allowed(somebody("team"), Right.ADMIN, EVERYTHING, everything.with_role("ADMIN"))
