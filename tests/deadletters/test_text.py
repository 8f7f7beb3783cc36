"""Dead letters as lines of JSON, and the lines of a mended file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters import HEADERS, Letter, Letters, letter_json, letter_of, mended, read_letters
from ksqlpy.errors import ConfigProblem, EnvironmentProblem

TEXT = Letter("0-7", "CSAS_BIG_1", "rides", 2, 5, 1000, "not JSON", b"k", b'{"a":')
RAW = replace(TEXT, id="0-8", key=None, value=b"\xff\x00")
LETTERS = Letters("letters", [TEXT, RAW])


def test_a_line_of_each() -> None:
    shown = letter_json(TEXT, replayed=True)
    assert (shown["id"], shown["key"], shown["value"], shown["replayed"]) == ("0-7", "k", '{"a":', True)
    raw = letter_json(RAW, replayed=False)
    assert raw["key"] is None
    assert (raw["value_base64"], "value" in raw) == ("/wA=", False)


def test_lines_give_the_letters_back() -> None:
    given = [letter_json(x, replayed=False) for x in LETTERS.letters]
    assert mended([json.dumps(given[0]), "", json.dumps(given[1])], LETTERS, "f") == [TEXT, RAW]
    headed = replace(TEXT, headers=(("a", b"b"), ("a", None), ("bin", b"\xff")))
    shown = letter_json(headed, replayed=False)
    assert shown["headers"] == [
        {"name": "a", "value": "b"},
        {"name": "a", "value": None},
        {"name": "bin", "value_base64": "/w=="},
    ]
    assert mended([json.dumps(shown)], Letters("letters", [headed]), "f") == [headed]
    less = json.dumps({**shown, "headers": shown["headers"][:1]})
    assert mended([less], Letters("letters", [headed]), "f") == [replace(headed, headers=(("a", b"b"),))]
    shown.pop("headers")
    assert mended([json.dumps(shown)], Letters("letters", [headed]), "f") == [headed]
    changed = json.dumps({**given[0], "value": '{"a":1}'})
    assert mended([changed], LETTERS, "f") == [replace(TEXT, value=b'{"a":1}')]


class Given:
    """A record of the topic with these headers."""

    def __init__(self, **headers: bytes) -> None:
        self._headers = [(HEADERS[name], value) for name, value in headers.items()]

    def headers(self) -> list[tuple[str, bytes]]:
        return self._headers

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"x"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000


def test_a_record_with_odd_headers_is_no_letter() -> None:
    right: Any = Given(topic=b"rides", partition=b"2", offset=b"5", reason=b"not JSON", query=b"Q")
    assert letter_of(right) == Letter("0-7", "Q", "rides", 2, 5, 1000, "not JSON", None, b"x")
    for name, value in (("partition", b"two"), ("offset", b""), ("timestamp", b"\xff")):
        odd: Any = Given(**{"topic": b"rides", "partition": b"2", "offset": b"5", name: value})
        assert letter_of(odd) is None
    without: Any = Given(partition=b"2", offset=b"5")
    assert letter_of(without) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "f:2: it is no JSON"),
        ('{"id": "0-99"}', "f:2: there is no letter 0-99"),
        ('{"value": "x"}', "f:2: it has no id"),
        ('{"id": "0-7", "key": null}', "f:2: it has no value"),
        ('{"id": "0-7", "key": null, "value": 3}', "f:2: value is not a string"),
        ('{"id": "0-7", "key": null, "value_base64": "?"}', "f:2: "),
        ('{"id": "0-7", "key": null, "value": "", "headers": "x"}', "f:2: headers is no list of objects"),
        ('{"id": "0-7", "key": null, "value": "", "headers": ["x"]}', "f:2: headers is no list of objects"),
        ('{"id": "0-7", "key": null, "value": "", "headers": [{"value": ""}]}', "f:2: it has no name"),
    ],
)
def test_bad_lines(line: str, why: str) -> None:
    with pytest.raises(ConfigProblem) as caught:
        mended(["", line], LETTERS, "f")
    assert caught.value.code == "bad-letter"
    assert caught.value.message.startswith(why)


def test_brokers_that_are_away_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.deadletters.letters.TIMEOUT", 1)
    with pytest.raises(EnvironmentProblem) as caught:
        read_letters(KafkaConnection("127.0.0.1:1"), "letters")
    assert caught.value.code == "broker-unavailable"
