"""`python -m bench recipes`: its events have what the recipes look for, and each answer is exact."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bench.recipes.run import RECIPES, recipes
from bench.suite import Event, Suite, columns_of

COUNT = 20_000
EVENTS = {suite.name: [*suite.events(COUNT, 3)] for suite in RECIPES}
QUERIES = [(suite, name) for suite in RECIPES for name in suite.answers]
LABELS = [suite.label(name) for suite, name in QUERIES]


@pytest.mark.parametrize("suite", RECIPES, ids=lambda suite: suite.name)
def test_the_same_seed_gives_the_same_events(suite: Suite) -> None:
    assert EVENTS[suite.name] == [*suite.events(COUNT, 3)] != [*suite.events(COUNT, 4)]


@pytest.mark.parametrize("suite", RECIPES, ids=lambda suite: suite.name)
def test_each_file_of_a_query_has_an_answer(suite: Suite) -> None:
    assert {file.stem for file in suite.folder.glob("*.sql")} == {"setup", *suite.answers}


def test_tables_come_ahead_of_the_events() -> None:
    assert Counter(e.topic for e in EVENTS["clickstream"]) == {"users": 400, "clicks": COUNT}
    stock = Counter(e.topic for e in EVENTS["inventory"])
    assert stock["items"] == 200 and stock["orders"] + stock["supplies"] == COUNT + 200
    assert {e.topic for e in EVENTS["clickstream"][:400]} == {"users"}


def test_a_key_is_not_in_the_value() -> None:
    event = Event("clicks", 1, {"user_id": 258, "page": "/"}, "user_id")
    assert (event.key, event.value) == (b"\0\0\0\0\0\0\1\2", b'{"page":"/"}')
    assert Event("items", 1, {"item": "I001", "least": 20}, "item").key == b"I001"


def test_users_leave_and_come_again() -> None:
    visits = Counter(row[0] for row in dict(RECIPES[0].answers)["sessions"](EVENTS["clickstream"]))
    assert max(visits.values()) > 1 and len(visits) > 300


def test_some_readings_come_late_and_some_machines_are_silent() -> None:
    events = EVENTS["anomaly"]
    late = sum(e.time - int(e.columns["measured"]) > 0 for e in events)
    assert 0.005 < late / COUNT < 0.015
    measured = [row["measured"] for row in columns_of(events, "readings")]
    assert measured != sorted(measured)
    assert [e.time for e in events] == sorted(e.time for e in events)


@pytest.mark.parametrize(("suite", "name"), QUERIES, ids=LABELS)
def test_an_answer_has_rows_and_a_wrong_one_is_found(suite: Suite, name: str) -> None:
    due = suite.answers[name](EVENTS[suite.name])
    assert due
    assert suite.wrong(name, due, due[::-1]) == ""
    assert suite.wrong(name, due, due[1:]) == f"{len(due) - 1:,} results, not {len(due):,}"
    other = [(*due[0][:-1], "other" if isinstance(due[0][-1], str) else due[0][-1] + 1), *due[1:]]
    assert suite.wrong(name, due, other).startswith(f"1 of {len(due):,} results are wrong")


@pytest.mark.extended("all recipes, one after the other")
@pytest.mark.spark
@pytest.mark.kafka
def test_each_recipe_is_exact() -> None:
    lines = [*recipes(COUNT, re.compile(""), 1)]
    exact = [line.partition(":")[0] for line in lines if line.endswith("results are exact")]
    assert exact == LABELS, "\n".join(lines)
