"""Nothing of a literal or a comment is left in a masked statement: the examples of ``masked.txt``, and others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksqlpy.audit.masked import digest, masked
from ksqlpy.sql import parse

_, _, TEXT = Path(__file__).with_name("masked.txt").read_text(encoding="utf-8").rstrip("\n").partition("\n\n")
FIRST, *PARTS = TEXT.split("\n--\n")  # a statement may hold empty lines, what is written of it is one line
EXPECTED = [part.partition("\n\n")[0] for part in PARTS]
ASKED = [FIRST, *(part.partition("\n\n")[2] for part in PARTS[:-1])]


@pytest.mark.parametrize(("statement", "expected"), list(zip(ASKED, EXPECTED, strict=True)))
def test_masked(statement: str, expected: str) -> None:
    found = masked(statement)
    assert found == expected
    assert "hunter" not in found.lower() and "31337" not in found.replace("v31337", "")
    parse(statement)
    parse(found)  # what is written can be read again


def test_a_name_in_quotes_is_masked_where_it_may_be_a_text_in_the_wrong_ones() -> None:
    assert masked('SELECT * FROM s WHERE password = "hunter";', names=True) == (
        "SELECT * FROM s WHERE password = `[name]`;"
    )


@given(st.text(max_size=30), st.text(max_size=30).filter(lambda t: "*/" not in t))
def test_whatever_a_string_or_a_comment_holds(text: str, comment: str) -> None:
    quoted = text.replace("'", "''")
    written = f"/*{comment}*/INSERT INTO s VALUES ('{quoted}')/*{comment}*/;"
    assert masked(written) == "INSERT INTO s VALUES ('[string]') ;"


def test_what_cannot_be_read_is_told_by_a_digest_only() -> None:
    text = "SELECT 'hunter"
    assert masked(text) is None
    assert digest(text) == digest(text) != digest(text + "2")
    assert "hunter" not in digest(text) and len(digest("\ud800")) == 32
