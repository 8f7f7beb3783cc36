"""Every kind of statement, by object and by role: done or refused; nothing tells of what one may not see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.access import Principal
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.statements import STATEMENTS
from ksqlpy.sql import parse
from tests.access.engine import AccessEngine, somebody

TEXT = Path(__file__).with_name("matrix.txt").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
CASES = list(zip(LINES[::2], (needs.strip().split(", ") for needs in LINES[1::2]), strict=True))

READS, WRITES = {"SELECT"}, {"SELECT", "INSERT"}
ROLES: dict[str, set[str]] = {
    "reader": READS,
    "writer": WRITES,
    "developer": WRITES | {"CREATE", "ALTER", "DROP"},
    "operator": {"OPERATE"},
    "admin": WRITES | {"CREATE", "ALTER", "DROP", "OPERATE", "ADMIN"},
}
"""The built-in roles, as docs/roles.md has them."""
NARROW = ("payments", "feeders", "unheard_of")
"""Those of the engine, and one that nobody has made."""

UNDONE = {"unsupported-statement", "assertion-failed"}
"""What those get who may do all, too."""


REFUSED = {
    "SELECT id, nothing": "NOTHING",
    "ALTER STREAM pay_mix": "come from the query HUSH_INTO_PAY",
    "CREATE OR REPLACE STREAM pay_mix": "it would read PAY_IN, not HUSH_IN",
    "DROP STREAM {x}_in;": "is used by the queries PAY_Q, HUSH_READS_PAY",
}
"""What cannot be done, with that in the message which only those may read who see it."""


def may(role: str, need: str) -> bool:
    """Whether a role has a right, by what the page says of it."""
    if need == "-":
        return True
    right, name = need.split(" ", 1)
    of_topic, name = name.startswith("TOPIC "), name.removeprefix("TOPIC ")
    if role in ROLES:
        own = ROLES[role]
        return (
            bool(own & {"SELECT", "INSERT", "DROP", "OPERATE"} if of_topic else own) if right == "any" else right in own
        )
    if role == "payments":
        return name.startswith("pay") and right != "ADMIN"
    return (role, name, of_topic) == ("feeders", "pay_in", False) and right in ("INSERT", "any")


@pytest.fixture(scope="module")
def made() -> AccessEngine:
    return AccessEngine()


@pytest.fixture
def engine(made: AccessEngine) -> Iterator[AccessEngine]:
    """An engine that is as it was before, ahead of each test."""
    service, broker, log = made.catalog_service, made.broker, made.brokers.log
    records = {topic: list(stored) for topic, stored in broker.log.items()}
    before = service.catalog, dict(service._plans), dict(broker._partitions), records, log.next_offset
    made.opened.clear()
    yield made
    service.catalog, service._plans, broker._partitions, broker.log, log.next_offset = before


def answered(engine: AccessEngine, sql: str, principal: Principal | None) -> tuple[KsqlError | None, str]:
    """The refusal, and all that is told."""
    try:
        return None, json.dumps(engine.ask(sql, principal), default=str)
    except KsqlError as e:
        return e, "\n".join([e.summary(), e.render(), json.dumps(e.entities, default=str)])


def state(engine: AccessEngine) -> Any:
    broker = engine.broker
    written = {t: len(records) for t, records in broker.log.items()}
    return engine.catalog, dict(broker._partitions), written, len(engine.log), list(engine.opened)


OBJECTS = [(sql, needs, x) for sql, needs in CASES for x in (("pay", "hush") if "{x}" in sql else ("pay",))]
IDS = [f"{sql.format(x=x)}"[:70] for sql, _, x in OBJECTS]


@pytest.mark.parametrize("role", [*ROLES, *NARROW])
@pytest.mark.parametrize(("sql", "needs", "x"), OBJECTS, ids=IDS)
def test_allowed_or_refused(sql: str, needs: list[str], x: str, role: str, engine: AccessEngine) -> None:
    missing = [n for n in (n.format(x=x) for n in needs) if not may(role, n)]
    before = state(engine)
    error, told = answered(engine, sql.format(x=x), somebody(role))
    if missing:
        assert error is not None, f"needs {missing}"
        assert (error.error_code, error.code) == (40300, "missing-right"), told
        assert re.search(r"ann has no right( [A-Z]+)? on \S", error.message)
        assert state(engine) == before
    else:
        assert error is None or error.error_code != 40300, told
    if role in NARROW:
        assert hidden(told, sql.format(x=x)) == []


def hidden(told: str, sql: str) -> list[str]:
    """The names in an answer that somebody who may use only what begins with PAY must not get, and has not written."""
    return sorted(name for name in set(re.findall(r"HUSH[A-Z_-]*", told.upper())) if name not in sql.upper())


@pytest.mark.parametrize("role", NARROW)
@pytest.mark.parametrize("sql", [sql for sql, _ in CASES if "{x}" in sql])
def test_what_is_hidden_is_as_what_is_not_there(sql: str, role: str, engine: AccessEngine) -> None:
    _, of_hidden = answered(engine, sql.format(x="hush"), somebody(role))
    _, of_none = answered(engine, sql.format(x="none"), somebody(role))
    assert of_hidden == of_none.replace("none", "hush").replace("NONE", "HUSH")


@pytest.mark.parametrize(("sql", "needs"), CASES, ids=[sql[:70] for sql, _ in CASES])
def test_without_login_all_is_done(sql: str, needs: list[str], engine: AccessEngine) -> None:
    """So that a statement of the matrix that is refused for another reason is not taken for one that is allowed."""
    for principal in (None, somebody("admin")):
        before = engine.catalog_service.catalog
        error, told = answered(engine, sql.format(x="hush" if "_role" in sql else "pay"), principal)
        engine.catalog_service.catalog = before
        known = next((why for begin, why in REFUSED.items() if sql.startswith(begin)), None)
        if known is not None:
            assert error is not None and known in error.message
        else:
            assert error is None or error.code in UNDONE, told


def test_the_matrix_has_every_kind_of_statement() -> None:
    kinds = {type(parse(sql.format(x="pay"))[0].node) for sql, _ in CASES}
    assert set(STATEMENTS) - kinds == set()


def test_a_statement_without_an_answer_cannot_be_entered() -> None:
    entry = next(iter(STATEMENTS.values()))
    given = {f: getattr(entry, f) for f in ("name", "check", "run", "effect")}
    with pytest.raises(TypeError, match="needs"):
        type(entry)(**given)
    assert replace(entry).needs is entry.needs
