r"""``\load``: rows of files go into a stream of a real server, and each error names its line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ksqlpy.__main__ import main
from ksqlpy.client import Client
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.run import ServerThread
from tests.support.real_server import real_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    with real_server(broker, tmp_path_factory.mktemp("data"), "load_") as running:
        yield running


@pytest.fixture
def client(server: ServerThread) -> Iterator[Client]:
    """With a stream of rides, which is gone with its topic behind the test."""
    with Client(server.url) as client:
        client.statements(
            "CREATE STREAM rides (id BIGINT KEY, city STRING, `Fare` DECIMAL(6, 2), km DOUBLE, quick BOOLEAN,"
            " tags ARRAY<STRING>, began TIMESTAMP) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        )
        yield client
        client.statements("DROP STREAM rides DELETE TOPIC;")


class Shell:
    """Runs a line of the shell; ``out``, ``err``: what it has said."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._url, self._capsys, self._monkeypatch = url, capsys, monkeypatch
        self.out = self.err = ""

    def __call__(self, line: str) -> int:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(line + "\n"))
        code = main(["--server", self._url, "shell"])
        self.out, self.err = self._capsys.readouterr()
        return code


@pytest.fixture
def shell(server: ServerThread, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(server.url, capsys, monkeypatch)


def rows(client: Client, columns: str = "*") -> list[Any]:
    _, *found = client.push(f"SELECT {columns} FROM rides;")
    return found


def test_a_file_of_csv(client: Client, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "some rides.csv"
    file.write_text(
        "ID,city,Fare,km,Quick,tags,began\n"
        '1,"Oslo, S",12.50,3.5,true,"[""a"", null]",2024-05-06T07:08:09.123\n'
        "\n"
        '2,"two\nlines",,-1e3,FALSE,,\n'
    )
    assert shell(f"\\load '{file}' INTO rides") == 0, shell.err
    assert f"2 rows of {file} are in RIDES" in shell.out
    assert rows(client) == [
        [1, "Oslo, S", Decimal("12.50"), 3.5, True, ["a", None], "2024-05-06T07:08:09.123"],
        [2, "two\nlines", None, -1000.0, False, None, None],
    ]


def test_a_file_of_json(client: Client, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "rides.jsonl"
    lines = [f'{{"id": {n}, "city": "a\\n{n}\u2028", "`Fare`": 1234.56}}' for n in range(25_000)]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert shell(f"\\load {file} into `RIDES`;") == 0, shell.err
    assert "25,000 rows of" in shell.out
    found = rows(client, "id, city, `Fare`")
    assert found == [[n, f"a\n{n}\u2028", Decimal("1234.56")] for n in range(25_000)]


@pytest.mark.parametrize(
    ("name", "text", "there", "says"),
    [
        ("a.jsonl", '{"id": 1}\n\n{"id": "two"}\n{"id": 3}\n', 1, "a.jsonl:3: column id: 'two' is no number"),
        ("a.jsonl", '{"id": 1}\n{"id": 2}\n{"id": 2.5}\n', 2, "the 2 rows before it are there"),
        ("a.jsonl", '{"id": 1}\n{"id": 2\n', 1, "error[not-json]: {file}:2: this is no object of JSON"),
        ("a.json", "[1]\n", 0, "error[not-json]: {file}:1: this is no object of JSON"),
        ("a.csv", "id,km\n1,2\n2\n", 1, "error[field-count]: {file}:3: 1 fields, the first line names 2"),
        ("a.csv", "id,km\n1,2\n2,near\n3,1\n", 1, "a.csv:3: column km: 'near' is no number"),
        ("a.csv", "id,km\n1,2\n2,nan\n", 1, "a.csv:3: column km: 'nan' is no number"),
        ("a.csv", "id,nothing\n1,2\n", 0, "a.csv:2: "),
        ("a.csv", 'id,km\n1,"2\n', 0, "error[not-csv]: {file}:2: this is no CSV"),
        ("a.txt", b'{"id": 1}\n\xff\n', 0, "error[file-unreadable]: the file {file} cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file(
    client: Client, shell: Shell, tmp_path: Path, name: str, text: str | bytes, there: int, says: str
) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    assert shell(f"\\load {file} INTO rides") == 1
    assert says.replace("{file}", str(file)) in shell.err
    assert ("before it" in shell.err) is (there > 0)
    assert rows(client, "id") == [[n + 1] for n in range(there)]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("\\load", "usage: \\load FILE INTO NAME"),
        ("\\load rides.csv", "usage: \\load FILE INTO NAME"),
        ("\\load nowhere.csv INTO rides", "the file nowhere.csv cannot be read"),
        ("\\load rides.csv INTO trains", "there is no stream or table TRAINS"),
    ],
)
def test_what_cannot_be_loaded(client: Client, shell: Shell, line: str, says: str) -> None:
    assert shell(line) == 1
    assert says in shell.err and "Traceback" not in shell.err
