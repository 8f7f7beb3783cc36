"""Command log and checkpoints of earlier versions, kept in tests/data, mean what they meant."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.runtime.replay import Replay, replayed
from ksqlpy.spark.spec import fingerprint_of

DATA = Path(__file__).parents[1] / "data" / "853a7e2"


def read() -> Replay:
    lines = (DATA / "log.jsonl").read_bytes().splitlines()
    return replayed([Entry(i, line) for i, line in enumerate(lines)], Config.of())


def test_the_log_of_853a7e2_is_read_as_it_was_meant() -> None:
    found = read()
    assert found.left_out == []
    catalog = found.catalog
    assert set(found.plans) == set(catalog.queries)
    assert found.ended == {"DOOMED"}
    assert list(catalog.types) == ["MONEY"]
    assert [q for q in catalog.queries.values() if q.paused] == [catalog.queries["TAGGED"]]
    assert catalog.queries["CHEAP"].upgraded_from
    assert catalog.sources["SPARE"].column("MORE") is not None
    assert catalog.sources["SPARE"].headers[0].name == "H"
    assert catalog.sources["WATCHED"].read_only


def test_checkpoints_of_853a7e2_are_of_the_plans_of_its_log() -> None:
    """Else their queries would be refused: the fingerprint is what a checkpoint knows its plan by."""
    plans = read().plans
    assert len(plans) == 12
    with zipfile.ZipFile(DATA / "checkpoints.zip") as packed:
        for query, kept in plans.items():
            written = json.loads(packed.read(f"{query}/plan.json").splitlines()[0])["plan"]
            assert written == fingerprint_of(kept), query
