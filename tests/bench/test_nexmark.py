"""`python -m bench nexmark`: its events are as the specification says, and each answer is exact."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bench.nexmark.answers import ANSWERS
from bench.nexmark.generator import events
from bench.nexmark.run import NEXMARK, QUERIES, nexmark
from bench.suite import columns_of

SOME = [*events(50_000, seed=3)]


def of(topic: str) -> list[dict[str, Any]]:
    return columns_of(SOME, topic)


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    assert Counter(e.topic for e in SOME) == {"person": 1_000, "auction": 3_000, "bid": 46_000}
    assert [e.topic for e in SOME[50:56]] == ["person", *["auction"] * 3, "bid", "bid"]
    assert [e.time - SOME[0].time for e in SOME[:3]] == [0, 1, 2]


def test_people_and_auctions_are_numbered() -> None:
    assert [p["id"] for p in of("person")] == [*range(1000, 2000)]
    assert [a["id"] for a in of("auction")] == [*range(1000, 4000)]


def test_some_are_hot() -> None:
    bids, auctions = of("bid"), of("auction")
    assert 0.49 < sum(int(b["auction"]) % 100 == 0 for b in bids) / len(bids) < 0.53
    assert 0.74 < sum(int(b["bidder"]) % 100 == 1 for b in bids) / len(bids) < 0.78
    assert 0.73 < sum(int(a["seller"]) % 100 == 0 for a in auctions) / len(auctions) < 0.79
    assert {a["category"] for a in auctions} == {10, 11, 12, 13, 14}


def test_events_are_as_large_as_they_shall_be() -> None:
    means = {"person": 200, "auction": 500, "bid": 100}
    for topic, mean in means.items():
        sizes = [sum(len(v) if isinstance(v, str) else 8 for v in e.columns.values()) for e in SOME if e.topic == topic]
        # Name and address of the channel of a bid come on top.
        assert mean * 0.9 < sum(sizes) / len(sizes) < mean * (1.1 if topic != "bid" else 1.9), topic


def test_the_same_seed_gives_the_same_events() -> None:
    assert SOME[:500] == [*events(500, seed=3)] != [*events(500, seed=4)]


@pytest.mark.parametrize("name", QUERIES)
def test_an_answer_has_rows_and_a_wrong_one_is_found(name: str) -> None:
    due = ANSWERS[name](SOME[:25_000])
    assert due
    assert NEXMARK.wrong(name, due, due[::-1]) == ""
    assert NEXMARK.wrong(name, due, due[1:]) == f"{len(due) - 1:,} results, not {len(due):,}"
    other = [(*due[0][:-1], "other"), *due[1:]]
    if isinstance(due[0][-1], str):
        assert NEXMARK.wrong(name, due, other).startswith(f"1 of {len(due):,} results are wrong")


@pytest.mark.extended("all queries of NEXMark, one after the other")
@pytest.mark.spark
@pytest.mark.kafka
def test_each_query_is_exact() -> None:
    lines = [*nexmark(20_000, QUERIES, 1)]
    exact = [line.partition(":")[0] for line in lines if line.endswith("results are exact")]
    assert exact == [*QUERIES], "\n".join(lines)
