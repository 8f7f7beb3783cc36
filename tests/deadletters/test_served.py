"""Dead letters by way of a server: for each who asks those that he may see, and a replay to where he may write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.__main__ import main
from ksqlpy.access import Principal, asking
from ksqlpy.deadletters import Letter, Letters
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import letterbox
from ksqlpy.server.run import ServerThread
from tests.access.engine import AccessEngine, somebody
from tests.support.fake_engine import FakeEngine

PAY = Letter("0-0", "PAY_Q", "pay-in", 0, 7, 1000, "no JSON", b"k", b"{", topic_id="T")
LETTERS = [
    PAY,
    replace(PAY, id="0-1", query="HUSH_Q", topic="hush-in"),
    replace(PAY, id="0-2", offset=8),
    replace(PAY, id="0-3", offset=9, result="pay-out"),
    replace(PAY, id="0-4", offset=9, result="hush-out"),
    replace(PAY, id="0-5", offset=10, topic="_ksqlpy-default_command_log"),
]
OWN = "_ksqlpy-default_dead_letters"

ALL = [letter.id for letter in LETTERS]
SEEN = {"ann": ["0-0", "0-2", "0-3"], "red": ALL, "op": [], "root": ALL, "": ALL}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics that were read as letters."""
    found: list[str] = []

    def letters(connection: object, topic: str) -> Letters:
        found.append(topic)
        return Letters(topic, list(LETTERS), {"0-2"})

    monkeypatch.setattr(letterbox, "read_letters", letters)
    return found


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[list[Letter]]:
    """What was replayed."""
    found: list[list[Letter]] = []

    def replayed(connection: object, letters: Letters, wanted: Sequence[Letter], *, again: bool) -> int:
        found.append(list(letterbox.choice(letters, wanted, again=again).letters))
        return len(found[-1])

    monkeypatch.setattr(letterbox, "replay", replayed)
    return found


@pytest.fixture
def engine(read: list[str]) -> AccessEngine:
    made: Any = AccessEngine()
    made.execute("CREATE ROLE payers; GRANT SELECT ON ALL TOPICS LIKE 'pay%' TO payers;")
    made.brokers.topics = SimpleNamespace(dead_letters=OWN)
    made.brokers.connection = None
    made.brokers.check_owner = lambda: None
    return made  # type: ignore[no-any-return]  # an engine of the tests


WHO: dict[str, Principal | None] = {
    "ann": somebody("payments"),
    "red": somebody("reader", name="red"),
    "op": somebody("operator", name="op"),
    "payer": somebody("payers", name="payer"),
    "root": somebody("admin", name="root"),
    "": None,
}


@pytest.mark.parametrize("who", SEEN)
def test_letters_are_for_who_may_read_their_topics(who: str, engine: AccessEngine) -> None:
    """Both: the one that the record came from, and the one that the result was meant for."""
    with asking(WHO[who]):
        found = engine.dead_letters()
        assert [letter["id"] for letter in found] == SEEN[who]
        assert [letter["id"] for letter in found if letter["replayed"]] == [i for i in SEEN[who] if i == "0-2"]
        assert engine.dead_letters(limit=1) == found[-1:]
        assert [x["id"] for x in engine.dead_letters(query="HUSH_Q")] == [i for i in SEEN[who] if i == "0-1"]
        assert all(x["topic"] == "pay-in" for x in engine.dead_letters(topic="pay-in"))


def refusal(engine: AccessEngine, who: str, **more: Any) -> str:
    with asking(WHO[who]), pytest.raises(KsqlError) as e:
        engine.replay_letters(**more)
    return e.value.message


def test_a_replay_needs_the_right_to_write(engine: AccessEngine, written: list[list[Letter]]) -> None:
    with asking(WHO["ann"]):
        assert engine.replay_letters(dry=True) == {"records": 2, "before": 1, "returned": 0, "cut": 0}
        assert written == []
        assert engine.replay_letters() == {"records": 2, "before": 1, "returned": 0, "cut": 0}
    assert [letter.id for letter in written.pop()] == ["0-0", "0-3"]
    assert refusal(engine, "payer") == "payer has no right INSERT on TOPIC 'pay-in'"
    assert refusal(engine, "payer", dry=True) == "payer has no right INSERT on TOPIC 'pay-in'"
    assert refusal(engine, "red", query="HUSH_Q") == "red has no right INSERT on TOPIC 'hush-in'"
    with asking(WHO["op"]):
        assert engine.replay_letters()["records"] == 0  # he sees none
    assert written == [[]]


def test_a_letter_that_is_mended_is_one_that_is_seen(engine: AccessEngine, written: list[list[Letter]]) -> None:
    with asking(WHO["ann"]):
        letters = engine.dead_letters(topic="pay-in")
        told = engine.replay_letters(mended=[{**letters[0], "value": "{}", "topic": "hush-in"}])
    assert told["records"] == 1 and written == [[replace(PAY, value=b"{}")]]
    hidden = {**letters[0], "id": "0-1"}
    assert refusal(engine, "ann", mended=[hidden]) == "letters:1: there is no letter 0-1"


def test_nothing_is_replayed_to_internal_topics(engine: AccessEngine, written: list[list[Letter]]) -> None:
    """Whoever may write the topic of letters might have named one."""
    for who in ("root", ""):
        assert refusal(engine, who).startswith("topic _ksqlpy-default_command_log is internal")
    assert written == []


def test_another_topic_of_letters_needs_rights_of_its_own(engine: AccessEngine, read: list[str]) -> None:
    with asking(WHO["ann"]):
        assert len(engine.dead_letters(letters="pay-late")) == 3
    assert read == ["pay-late"]
    with asking(WHO["ann"]), pytest.raises(KsqlError, match="no right SELECT on TOPIC 'hush-late'"):
        engine.dead_letters(letters="hush-late")
    assert refusal(engine, "payer", letters="pay-late") == "payer has no right INSERT on TOPIC 'pay-late'"
    for who in ("root", ""):
        with asking(WHO[who]), pytest.raises(KsqlError, match="is internal and cannot be read"):
            engine.dead_letters(letters="_ksqlpy-default_command_log")
    assert read == ["pay-late"]


# ---------------------------------------------------------------- the command


@pytest.fixture
def server() -> Iterator[tuple[FakeEngine, list[str]]]:
    engine = FakeEngine()
    with ServerThread(engine) as running:
        yield engine, ["--server", running.url]


def test_the_command_asks_the_server(
    server: tuple[FakeEngine, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine, where = server
    # The server that is named is asked, also where its own environment names brokers.
    monkeypatch.setenv("KSQLPY_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    assert main(["deadletters", "list", "--output", "csv", *where]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "CTAS_N_1,rides,no JSON,1,0,0-7,0-7"
    choice = ["--query", "Q", "--topic", "t", "--letters-topic", "late"]
    assert main(["deadletters", "show", "--limit", "3", "--output", "json", *choice, *where]) == 0
    shown = capsys.readouterr().out
    assert json.loads(shown)["id"] == "0-7"
    file = tmp_path / "letters.jsonl"
    file.write_text(f"{shown}\n")
    assert main(["deadletters", "replay", str(file), "--again", *where]) == 0
    assert capsys.readouterr().out == (
        "3 records replayed, 2 were before, 1 came back from a replay (mend them, or --again writes them as they are)\n"
    )
    assert main(["deadletters", "replay", "--dry-run", *where]) == 0
    assert capsys.readouterr().out.startswith("3 records would be replayed")
    assert engine.letters == [
        (None, None, None, None),
        ("Q", "t", "late", 3),
        (None, None, None, [json.loads(shown)], True, False),
        (None, None, None, None, False, True),
    ]
    file.write_text("{\n")
    assert main(["deadletters", "replay", str(file), *where]) == 1
    assert "letters.jsonl:1: it is no JSON" in capsys.readouterr().err
