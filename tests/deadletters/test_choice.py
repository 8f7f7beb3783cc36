"""Which records a replay writes: each once, whatever letters there are about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksqlpy.deadletters import Choice, Letter, Letters, choice
from ksqlpy.errors import ConfigProblem

FIRST = Letter("0-0", "N1", "ev", 0, 7, 1000, "not JSON", b"k", b"{", topic_id="T")
SECOND = replace(FIRST, id="0-1", query="N2", reason="no INT")
OTHER = replace(FIRST, id="0-2", offset=8)
ALL = (FIRST, SECOND, OTHER)


def known(*letters: Letter, done: str = "") -> Letters:
    return Letters("letters", list(letters), set(done.split()))


def mended(letter: Letter, value: bytes = b"{}") -> Letter:
    return replace(letter, value=value)


def test_a_record_is_written_once() -> None:
    assert choice(known(*ALL), ALL) == Choice((FIRST, OTHER))
    assert choice(known(*ALL), (SECOND,)) == Choice((SECOND,))


def test_the_mended_letter_counts() -> None:
    assert choice(known(*ALL), (FIRST, mended(SECOND), OTHER)) == Choice((mended(SECOND), OTHER))
    assert choice(known(*ALL), (mended(FIRST), mended(SECOND))) == Choice((mended(FIRST),))
    with pytest.raises(ConfigProblem, match="letters 0-0 and 0-1 are about one record"):
        choice(known(*ALL), (mended(FIRST), mended(SECOND, b"[]")))


def test_all_letters_of_a_replayed_record_are_done() -> None:
    assert choice(known(*ALL, done="0-0"), ALL) == Choice((OTHER,), before=1)
    assert choice(known(*ALL, done="0-0"), (mended(SECOND),)) == Choice((), before=1)
    late = replace(FIRST, id="0-9", query="N3")  # of a query that came to the record after its replay
    assert choice(known(*ALL, late, done="0-0"), (late,)) == Choice((), before=1)


def test_the_same_place_of_another_topic_is_another_record() -> None:
    anew = replace(FIRST, id="0-5", topic_id="recreated")
    assert choice(known(*ALL, anew, done="0-0"), (FIRST, anew)) == Choice((anew,), before=1)
    old, later = (replace(x, topic_id="") for x in (FIRST, anew))  # of an older version
    assert choice(known(old, later, done="0-0"), (later,)) == Choice((), before=1)
    other = replace(later, timestamp=2000)
    assert choice(known(old, other, done="0-0"), (other,)) == Choice((other,))


def test_results_are_their_own() -> None:
    """One record brings about several results, and several queries have results of one record."""
    results = tuple(replace(x, result="sink") for x in (FIRST, SECOND))
    assert choice(known(*results), results) == Choice(results)
    assert choice(known(*results, done="0-0"), results) == Choice(results[1:], before=1)


def test_what_came_back_is_left_until_it_is_mended() -> None:
    back = replace(FIRST, id="0-6", offset=9, headers=(("trace", b"1"), ("ksqlpy.replayed", b"letters:0:0")))
    letters = known(*ALL, back, done="0-0")
    assert choice(letters, (back, OTHER)) == Choice((OTHER,), returned=1)
    assert choice(letters, (back,), again=True) == Choice((back,))
    assert choice(letters, (mended(back),)) == Choice((mended(back),))
    assert back.copy_of == "letters:0:0"


def test_a_part_of_a_record_is_not_written() -> None:
    part = replace(FIRST, cut="1:4194304")
    assert choice(known(part), (part,)) == Choice((), cut=1)
    assert choice(known(part, SECOND), (part, SECOND)) == Choice((SECOND,))
    assert choice(known(part), (mended(part),)) == Choice((mended(part),))
