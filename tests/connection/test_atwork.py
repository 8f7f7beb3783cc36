"""Threads that make rows take turns: one at a time, in order, and none keeps its turn while it waits."""

from __future__ import annotations

import itertools
import threading

import pytest

from ksqlpy import atwork
from ksqlpy.atwork import step, waiting, working
from tests.support.waiting import until


def run(*tasks: threading.Thread) -> None:
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(60)
    assert not any(task.is_alive() for task in tasks)


def test_one_works_at_a_time_and_all_come_to_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atwork, "SLICE", 0.0)
    at_work, most, turns = 0, 0, list[int]()

    def work(number: int) -> None:
        nonlocal at_work, most
        with working():
            for _ in range(50):
                at_work += 1
                most = max(most, at_work)
                turns.append(number)
                at_work -= 1
                if number == 0:
                    until(lambda: len(atwork._queue) == 3 or len(turns) > 100)
                step()

    run(*(threading.Thread(target=work, args=(n,)) for n in range(4)))
    assert most == 1
    assert sorted(turns) == sorted(list(range(4)) * 50)
    changes = sum(a != b for a, b in itertools.pairwise(turns))
    assert changes > 100  # each gives its turn to the next


def test_who_waits_lets_others_work() -> None:
    done, waited = threading.Event(), threading.Event()

    def first() -> None:
        with working(), waiting():
            waited.set()
            assert done.wait(60)

    def second() -> None:
        assert waited.wait(60)
        with working():
            done.set()

    run(threading.Thread(target=first), threading.Thread(target=second))


def test_a_turn_within_a_turn_is_the_same_one() -> None:
    with working():
        with working():
            step()
        with waiting(), waiting():
            pass
    with waiting():
        step()


def test_who_fails_gives_its_turn_back() -> None:
    with pytest.raises(ValueError, match="no"), working():
        raise ValueError("no")
    worked = threading.Event()

    def work() -> None:
        with working():
            worked.set()

    run(threading.Thread(target=work))
    assert worked.is_set()
