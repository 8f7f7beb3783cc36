"""A question that is asked again and again: who asks waits for a while, and all who ask meanwhile share the answer."""

from __future__ import annotations

import threading

import pytest

from ksqlpy.runtime import questions
from ksqlpy.runtime.questions import Answer, Questions
from tests.support.waiting import until

LONG = 60.0


class Asked:
    """Answers 1, 2, … or raises what stands in ``fails``; waits for ``answers`` and keeps which threads have asked."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.threads: list[int] = []
        self.fails: Exception | None = None

    def __call__(self) -> int | None:
        self.threads.append(threading.get_ident())
        self.answers.wait(LONG)
        if self.fails is not None:
            raise self.fails
        return len(self.threads)


def test_one_thread_asks_each_time() -> None:
    asked = Asked()
    made = Questions(asked, "it", lambda: 7.0)
    assert made.last is None
    assert [made.ask(LONG) for _ in range(3)] == [Answer(1, 7.0), Answer(2, 7.0), Answer(3, 7.0)]
    assert len(set(asked.threads)) == 1, "a connection to the JVM belongs to its thread"


def test_who_asks_meanwhile_shares_the_answer() -> None:
    asked = Asked()
    made = Questions(asked, "it")
    asked.answers.clear()
    found: list[Answer[int] | None] = []
    waiting = threading.Thread(target=lambda: found.append(made.ask(LONG)))
    waiting.start()
    assert until(lambda: len(asked.threads) == 1)
    assert [made.ask(0) for _ in range(5)] == [None] * 5
    asked.answers.set()
    waiting.join(LONG)
    assert len(asked.threads) == 1
    assert [a and a.told for a in found] == [1]


def test_a_late_answer_becomes_the_last_one() -> None:
    asked = Asked()
    clock = [100.0]
    made = Questions(asked, "it", lambda: clock[0])
    made.ask(LONG)
    asked.answers.clear()
    clock[0] = 200.0
    assert made.ask(0) == Answer(1, 100.0)
    assert until(lambda: len(asked.threads) == 2)
    clock[0] = 300.0
    asked.answers.set()
    assert until(lambda: not made.open)
    assert made.last == Answer(2, 200.0), "it tells nothing younger than the question"


def test_no_answer_leaves_the_last_one() -> None:
    asked = Asked()
    made = Questions(asked, "it", lambda: 1.0)
    made.ask(LONG)
    asked.fails = OSError("gone")
    assert made.ask(LONG) == Answer(1, 1.0)
    asked.fails = None
    assert made.ask(LONG) == Answer(3, 1.0), "it is asked again"


def test_a_thread_without_questions_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(questions, "IDLE", 0.01)
    made = Questions(asked, "a rare question")
    made.ask(LONG)
    assert until(lambda: all(t.name != "a rare question" for t in threading.enumerate()))
    assert made.ask(LONG) is not None and len(asked.threads) == 2
