"""Push queries and PRINT end when their right does, and are closed by whom they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ksqlpy.access import EXEMPT, Principal, asking
from ksqlpy.errors import KsqlError
from tests.access.engine import EARLIEST, AccessEngine, somebody
from tests.support.waiting import until

ANN, ROOT = somebody("payments"), somebody("admin", name="root")

QUERIES = {
    "a feed that several share": ("SELECT * FROM pay_in EMIT CHANGES;", {}),
    "a topic of its own": ("SELECT * FROM pay_in EMIT CHANGES;", EARLIEST),
    "PRINT": ("PRINT 'pay-in';", {}),
}


class Reading:
    """A query that somebody reads in a thread; ``error``: why it ended."""

    def __init__(self, engine: AccessEngine, sql: str, properties: dict[str, str], principal: Principal | None) -> None:
        with asking(principal):
            self.query: Any = engine.query(sql, properties)
        self.error: KsqlError | None = None
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            for _ in self.query.rows():
                pass
        except KsqlError as e:
            self.error = e

    def ended(self) -> KsqlError | None:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.error

    @property
    def goes_on(self) -> bool:
        return self._thread.is_alive() and self.query.ended_for is None


@pytest.fixture
def engine() -> AccessEngine:
    return AccessEngine(reading=True)


def close(engine: AccessEngine, *readings: Reading) -> None:
    for reading in readings:
        reading.query.close()
        reading.ended()


@pytest.mark.parametrize(
    "statement", ["REVOKE SELECT ON ALL{topics} LIKE 'pay%' FROM payments;", "DROP ROLE payments;"]
)
@pytest.mark.parametrize("kind", QUERIES)
def test_a_query_ends_when_its_right_is_revoked(kind: str, statement: str, engine: AccessEngine) -> None:
    sql, properties = QUERIES[kind]
    own = Reading(engine, sql, properties, ANN)
    others = [Reading(engine, sql, properties, p) for p in (ROOT, None, somebody("payments", "reader"))]
    engine.execute(statement.format(topics=" TOPICS" if kind == "PRINT" else ""))
    error = own.ended()
    assert error is not None and (error.error_code, error.code) == (40300, "missing-right")
    on = "TOPIC 'pay-in'" if kind == "PRINT" else "PAY_IN"
    assert error.message == f"ann has no right SELECT on {on}"
    assert all(r.goes_on for r in others)
    close(engine, *others)


def test_what_takes_away_another_right_ends_nothing(engine: AccessEngine) -> None:
    own = Reading(engine, *QUERIES["a topic of its own"], ANN)
    engine.execute("REVOKE INSERT, DROP ON ALL LIKE 'pay%' FROM payments; DROP ROLE feeders;")
    assert own.goes_on
    close(engine, own)


def test_who_takes_the_rows_of_a_feed_is_told_why_it_ends(engine: AccessEngine) -> None:
    told: list[object] = []
    with asking(ANN):
        query: Any = engine.query("SELECT * FROM pay_in EMIT CHANGES;", {})
    assert query.subscribe(lambda batch: None, told.append, lambda: told.append("ended"))
    engine.execute("DROP ROLE payments;")
    assert until(lambda: told[1:] == ["ended"])
    assert isinstance(told[0], KsqlError) and told[0].error_code == 40300


@pytest.mark.parametrize("kind", QUERIES)
def test_a_right_that_goes_while_the_query_is_opened(
    kind: str, engine: AccessEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "print" if kind == "PRINT" else "push_plain"
    opened: Callable[..., Any] = getattr(engine.reads, name)

    def meanwhile(*args: Any, **more: Any) -> Any:
        with asking(None):
            engine.execute("DROP ROLE payments;")  # behind the check, and ahead of the query
        return opened(*args, **more)

    monkeypatch.setattr(engine.reads, name, meanwhile)
    error = Reading(engine, *QUERIES[kind], ANN).ended()
    assert error is not None and error.error_code == 40300


@pytest.mark.parametrize(
    ("principal", "closes"),
    [
        (ANN, True),
        (None, True),
        (ROOT, True),
        (somebody("operator", name="op"), True),
        (EXEMPT, False),
        (somebody("payments", name="bob"), False),
        (somebody("developer", name="dev"), False),
        (Principal("ann", frozenset({"payments"}), "jwt"), False),
    ],
)
@pytest.mark.parametrize("kind", QUERIES)
def test_it_is_closed_by_whom_it_belongs_to(
    kind: str, principal: Principal | None, closes: bool, engine: AccessEngine
) -> None:
    own = Reading(engine, *QUERIES[kind], ANN)
    with asking(principal):
        assert engine.close_query(own.query.id) is closes
        assert not engine.close_query("nothing_of_that_id")
    if closes:
        assert own.ended() is None
    else:
        assert own.goes_on
        close(engine, own)


def test_others_see_and_end_it_by_their_rights(engine: AccessEngine) -> None:
    own = Reading(engine, *QUERIES["a topic of its own"], ANN)
    query_id = own.query.id

    def said(principal: Principal, sql: str) -> Any:
        with asking(principal):
            try:
                return engine.execute(sql)
            except KsqlError as e:
                return e

    def listed(principal: Principal) -> list[tuple[str, str]]:
        return [
            (q["id"], q["owner"]) for q in said(principal, "SHOW QUERIES;")[0]["queries"] if q["queryType"] == "PUSH"
        ]

    bob, hidden = somebody("payments", name="bob"), somebody("hush_role", name="eve")
    assert listed(ANN) == listed(bob) == listed(ROOT) == [(query_id, "ann")]
    assert listed(hidden) == []
    for sql in (f"TERMINATE {query_id};", f"EXPLAIN {query_id};"):
        assert said(hidden, sql).message == f"eve has no right OPERATE on query {query_id.upper()}"
    assert said(bob, f"TERMINATE {query_id};").message == "bob has no right OPERATE on ALL"
    assert said(bob, f"EXPLAIN {query_id};")[0]["queryDescription"]["owner"] == "ann"
    assert said(ANN, f"TERMINATE {query_id};")[0]["wasTerminated"]
    assert own.ended() is None
