"""How many letters there are, counted as they are read; and how many requests may wait for that."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.asker import LEFT
from ksqlpy.deadletters import Summary, summary
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime.letterbox import READERS, WAITERS, LetterBox, _turn


def record(offset: int, value: bytes | None = b"{", **headers: str) -> Any:
    """A record of a topic of letters, as confluent-kafka has it; ``headers``: their names with _ for dots."""
    named = [(f"ksqlpy.{name.replace('_', '.')}", text.encode()) for name, text in headers.items()]
    return SimpleNamespace(
        partition=lambda: 0,
        offset=lambda: offset,
        timestamp=lambda: (1, 1000),
        key=lambda: b"k",
        value=lambda: value,
        headers=lambda: named,
    )


def letter(offset: int, of: int, query: str = "CTAS_N_1", reason: str = "no JSON", **headers: str) -> Any:
    """A letter of a query about a record of the topic rides."""
    about = {"source_topic": "rides", "source_partition": "0", "source_offset": f"{of}", "source_topic_id": "T"}
    return record(offset, **about, query=query, reason=reason, source_timestamp=f"{1000 + of}", **headers)


def note(offset: int, ids: Sequence[str]) -> Any:
    """What a replay writes behind its records."""
    return record(offset, json.dumps({"ids": list(ids)}).encode(), replay="done")


def counted(records: Iterable[Any], takes: Any = lambda letter: True) -> dict[str, Any]:
    found = Summary(takes)
    for one in records:
        found.take(one)
    return found.told()


def group(query: str, reason: str, count: int, replayed: int, first: int, last: int) -> dict[str, Any]:
    named = {"query": query, "topic": "rides", "reason": reason}
    return {**named, "count": count, "replayed": replayed, "first": first, "last": last}


def test_they_are_counted_by_query_topic_and_reason() -> None:
    there = [
        letter(0, of=9),
        letter(1, of=7),
        letter(2, of=7, query="CTAS_M_2"),
        letter(3, of=8, reason="too large: 9"),
    ]
    assert counted(there) == {
        "total": 4,
        "groups": [
            group("CTAS_N_1", "no JSON", 2, 0, 1007, 1009),
            group("CTAS_M_2", "no JSON", 1, 0, 1007, 1007),
            group("CTAS_N_1", "too large: 9", 1, 0, 1008, 1008),
        ],
    }
    only = counted(there, lambda letter: letter.query == "CTAS_M_2")
    assert (only["total"], len(only["groups"])) == (1, 1)


def test_a_record_that_was_replayed_is_done_for_all_queries_and_later_letters() -> None:
    there = [letter(0, of=7), letter(1, of=7, query="CTAS_M_2"), letter(2, of=8), note(3, ["0-0"]), letter(4, of=7)]
    told = counted(there)
    assert [(g["query"], g["count"], g["replayed"]) for g in told["groups"]] == [("CTAS_N_1", 3, 2), ("CTAS_M_2", 1, 1)]
    of_one = counted(there, lambda letter: letter.query == "CTAS_M_2")
    assert [g["replayed"] for g in of_one["groups"]] == [1], "also by a letter that is not counted"


def test_a_result_is_done_by_itself() -> None:
    there = [letter(0, of=7), letter(1, of=7, result="FARES"), note(2, ["0-1"])]
    assert counted(there)["groups"] == [group("CTAS_N_1", "no JSON", 2, 1, 1007, 1007)]


def test_records_of_others_are_no_letters() -> None:
    assert counted([record(0), record(1, source_topic="rides"), letter(2, of=1)])["total"] == 1


def test_reasons_may_be_as_many_as_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "GROUPS", 3)
    there = [letter(n, of=n, reason=f"row {n} is bad") for n in range(9)] + [letter(10, of=4, reason="row 4 is bad")]
    told = counted(there)
    assert told["total"] == 10 and [g["reason"] for g in told["groups"]] == [f"row {n} is bad" for n in (4, 0, 1)]


# ---------------------------------------------------------------- turns


def test_so_many_requests_wait_and_no_more() -> None:
    box = LetterBox(None)  # type: ignore[arg-type]  # no topic is read
    places = [box._place() for _ in range(READERS + WAITERS)]
    for place in places:
        place.__enter__()
    with pytest.raises(EngineProblem) as e, box._place():
        pass
    assert (e.value.code, e.value.error_code) == ("too-many-wait", 42900)
    for place in places:
        place.__exit__(None, None, None)
    with box._place():
        pass


def test_who_has_left_waits_for_no_turn() -> None:
    turns = threading.BoundedSemaphore(1)
    left = threading.Event()
    token = LEFT.set(left)
    try:
        with _turn(turns):
            left.set()
            with pytest.raises(EngineProblem) as e, _turn(turns):
                pass
            assert e.value.code == "client-left"
        with _turn(turns):
            pass
    finally:
        LEFT.reset(token)
