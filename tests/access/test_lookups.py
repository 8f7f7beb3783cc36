"""Lookups, which are analysed once for all, give rows only to those who may read the table: here, and in readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.access import Principal, asking
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.reader import Reader
from ksqlpy.runtime.replay import Replay
from ksqlpy.runtime.waiting import wait_for_inputs
from tests.access.engine import AccessEngine, somebody

COPY = SimpleNamespace(key=lambda values: b"k", of_key=lambda key: [])
Look = Callable[[str], Any]


def of_engine(engine: AccessEngine, folder: Path) -> tuple[Look, Callable[[], None]]:
    seams: Any = engine
    seams._ready = True
    seams.reads._behind = SimpleNamespace(known=lambda source, catalog: {"PAY_Q": 1, "HUSH_Q": 2})
    seams.reads.copies = SimpleNamespace(ready=lambda source, committed: COPY)
    return engine.look_up, lambda: None


def of_reader(engine: AccessEngine, folder: Path) -> tuple[Look, Callable[[], None]]:
    reader: Any = Reader(engine.config, folder)
    reader._ready = True
    reader._copies = SimpleNamespace(ready=lambda source, committed: COPY)

    def follow() -> None:
        reader._replay = Replay(engine.config)
        for entry in engine.log:
            reader._replay.take(entry)

    follow()
    return reader.look_up, follow


@pytest.mark.parametrize("process", [of_engine, of_reader])
def test_only_who_may_read_gets_rows(process: Any, tmp_path: Path) -> None:
    engine = AccessEngine()
    look_up, follow = process(engine, tmp_path)

    def answers(principal: Principal | None, table: str) -> bool:
        with asking(principal):
            return look_up(f"SELECT * FROM {table} WHERE id = 1;") is not None

    ann, eve = somebody("payments"), somebody("feeders", name="eve")
    for _ in range(2):  # the second time by what the first one has found
        assert not answers(ann, "hush_of") and not answers(eve, "pay_of") and not answers(somebody(), "pay_of")
        assert answers(ann, "pay_of") and answers(None, "hush_of") and answers(somebody("reader"), "hush_of")
    engine.execute("GRANT SELECT ON pay_of TO feeders; REVOKE SELECT ON ALL LIKE 'pay%' FROM payments;")
    follow()
    assert answers(eve, "pay_of") and not answers(ann, "pay_of")


def test_figures_tell_of_queries_that_one_sees(tmp_path: Path) -> None:
    look_up, _ = of_engine(AccessEngine(), tmp_path)
    for principal, told in ((somebody("payments"), {"PAY_Q": 1}), (None, {"PAY_Q": 1, "HUSH_Q": 2})):
        with asking(principal):
            assert look_up("SELECT * FROM pay_of WHERE id = 1;")[2] == told


def test_what_one_waits_for_is_named_to_those_who_see_it() -> None:
    engine = AccessEngine()
    source = engine.catalog.sources["PAY_MIX"]
    engine.execute("PAUSE hush_into_pay;")
    supervisor: Any = SimpleNamespace(
        specs=SimpleNamespace(committed=lambda query: True),
        queries=SimpleNamespace(get=lambda query_id: None),
        status=lambda query_id, catalog: engine.supervisor.status(query_id, catalog),
    )
    for principal, told in ((somebody("payments"), "a query that you may not see"), (None, "query HUSH_INTO_PAY")):
        with asking(principal), pytest.raises(KsqlError, match=f": {told} is PAUSED"):
            wait_for_inputs((source,), engine.catalog, supervisor, engine.broker, 0.0)
