"""Roles, grants and owners are kept in the command log, and read again."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from ksqlpy.access import Principal, Right, Thing, allowed, asking
from ksqlpy.catalog import Owner
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.runtime.replay import replayed
from tests.access.engine import AccessEngine, somebody


def test_a_restart_has_roles_and_grants() -> None:
    engine = AccessEngine()
    engine.execute(
        "GRANT SELECT ON TOPIC 'pay''in' TO feeders; REVOKE DROP ON ALL LIKE 'pay%' FROM payments; DROP ROLE hush_role;"
    )
    found = replayed(engine.log, engine.config)
    assert found.left_out == []
    assert found.catalog.grants == engine.catalog.grants
    assert list(found.catalog.grants.roles) == ["PAYMENTS", "FEEDERS"]


def test_a_restart_knows_the_owners() -> None:
    engine = AccessEngine()
    with asking(somebody("developer", name="dev")):
        engine.execute("CREATE STREAM own AS SELECT * FROM pay_in; INSERT INTO pay_out SELECT * FROM pay_in;")
    owners = [q.owner for q in replayed(engine.log, engine.config).catalog.queries.values()]
    assert owners == [None] * 4 + [Owner("dev", "basic")] * 2
    without = [json.loads(e.value or b"")["query"] for e in engine.log if b'"CSAS' in (e.value or b"")]
    assert "owner" not in json.loads(engine.log[6].value or b"")["query"] and without  # earlier versions do not know it


def test_who_replaces_a_query_owns_it() -> None:
    engine = AccessEngine()
    with asking(somebody("developer", name="dev")):
        engine.execute("CREATE OR REPLACE STREAM pay_out AS SELECT * FROM pay_in WHERE id > 1;")
    assert engine.catalog.queries["PAY_Q"].owner == Owner("dev", "basic")
    engine.execute("CREATE OR REPLACE STREAM pay_out AS SELECT * FROM pay_in WHERE id > 2;")  # nobody was asked
    assert engine.catalog.queries["PAY_Q"].owner == Owner("dev", "basic")


def test_equal_names_of_two_logins_are_two_people() -> None:
    engine = AccessEngine()
    with asking(somebody("developer", name="dev")):
        engine.execute("CREATE STREAM own WITH (QUERY_ID='own_q') AS SELECT * FROM pay_in;")
    with asking(Principal("dev", frozenset({"developer"}), "jwt")), pytest.raises(KsqlError, match="no right OPERATE"):
        engine.execute("PAUSE own_q;")
    with asking(somebody(name="dev")):  # without any role
        assert engine.execute("SHOW QUERIES;")[0]["queries"][0]["id"] == "OWN_Q"
        engine.execute("PAUSE own_q; TERMINATE own_q;")


def entry(**data: Any) -> Entry:
    return Entry(99, json.dumps({"version": 1, **data}).encode())


ON = {"kind": "SOURCE", "name": "PAY_IN", "like": None}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (entry(op="revoke", role="PAYMENTS", rights=["SELEKT"], on=ON), "'SELEKT' is not a valid Right"),
        (entry(op="revoke", role="PAYMENTS", rights=["ADMIN"], on=ON), "its rights cannot be read"),
        (entry(op="revoke", role="PAYMENTS", rights="SELECT", on=ON), "its rights cannot be read"),
        (
            entry(op="revoke", role="PAYMENTS", rights=["SELECT"], on={**ON, "kind": "TYPE"}),
            "its rights cannot be read",
        ),
        (entry(op="revoke", role="PAYMENTS", rights=["SELECT"], on={**ON, "like": "%"}), "its rights cannot be read"),
        (entry(op="revoke", role="PAYMENTS", rights=["SELECT"], on={"kind": "SOURCE"}), "its rights cannot be read"),
        (
            entry(op="revoke", role="PAYMENTS", rights=["CREATE"], on={**ON, "kind": "TOPIC"}),
            "its rights cannot be read",
        ),
        (entry(op="disinherit", role="PAYMENTS"), "it has the op 'disinherit' that this version does not know"),
        (entry(op="grant", role="PAYMENTS", rights=["SELECT"]), "its rights cannot be read"),
    ],
)
def test_a_role_with_an_odd_entry_has_no_rights(odd: Entry, reason: str) -> None:
    """It may have taken some away."""
    engine = AccessEngine()
    found = replayed([*engine.log, odd], engine.config)
    assert found.left_out == [f"entry 99 of the command log is left out: {reason}"]
    assert not allowed(somebody("payments"), None, Thing.source("PAY_IN"), found.catalog.grants)
    assert allowed(somebody("feeders"), Right.INSERT, Thing.source("PAY_IN"), found.catalog.grants)


def test_grants_of_a_role_that_is_not_there_are_left_out() -> None:
    found = replayed([entry(op="grant", role="NOBODYS", rights=["SELECT"], on=ON)], AccessEngine("").config)
    assert found.left_out == ["entry 99 of the command log is left out: there is no role NOBODYS"]
    assert dict(found.catalog.grants.roles) == {}


def test_two_administrators_at_once() -> None:
    engine = AccessEngine()
    failed: list[KsqlError] = []

    def administer(name: str) -> None:
        with asking(somebody("admin", name=name)):
            for number in range(30):
                try:
                    engine.execute(
                        f"CREATE ROLE {name}_{number}; GRANT SELECT ON ALL LIKE '{name}%' TO {name}_{number};"
                    )
                    engine.execute(f"GRANT DROP ON pay_in TO feeders; DROP ROLE {name}_{number};" if number % 2 else "")
                except KsqlError as e:
                    failed.append(e)

    threads = [threading.Thread(target=administer, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert len(engine.catalog.grants.roles) == 3 + 3 * 15
    assert replayed(engine.log, engine.config).catalog.grants == engine.catalog.grants
