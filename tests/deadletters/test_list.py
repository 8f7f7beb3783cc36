"""``ksqlpy deadletters list``: the counts of letters, in each form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksqlpy.__main__ import main
from ksqlpy.deadletters import Letter, Letters

FIRST = Letter("0-0", "N1", "ev", 0, 7, 1000, "not JSON, but text", b"k", b"{", topic_id="T")
FOUND = Letters("letters", [FIRST, replace(FIRST, id="0-1", offset=8), replace(FIRST, id="0-2", query="N2")], {"0-1"})

CSV = """Query,Topic,Reason,Letters,Replayed,First,Last
N1,ev,"not JSON, but text",2,1,0-0,0-1
N2,ev,"not JSON, but text",1,0,0-2,0-2
"""


@pytest.mark.parametrize(
    ("letters", "output", "shown"),
    [
        (FOUND, "csv", CSV),
        (
            FOUND,
            "table",
            """Query  Topic  Reason              Letters  Replayed  First  Last
-----  -----  ------------------  -------  --------  -----  ----
N1     ev     not JSON, but text  2        1         0-0    0-1
N2     ev     not JSON, but text  1        0         0-2    0-2
""",
        ),
        (Letters("letters", [], set()), "csv", CSV.splitlines(keepends=True)[0]),
        (Letters("letters", [], set()), "table", "(no dead letters)\n"),
    ],
)
def test_list(
    letters: Letters, output: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ksqlpy.deadletters.read_letters", lambda brokers, topic: letters)
    assert main(["deadletters", "list", "--output", output, "--bootstrap-servers", "127.0.0.1:1"]) == 0
    assert capsys.readouterr().out == shown
