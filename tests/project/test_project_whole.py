"""A project and migrations on a real server: the example is planned, applied, changed; its state goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.__main__ import main
from ksqlpy.client import Client
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.server.run import ServerThread

EXAMPLE = Path(__file__).parents[2] / "examples" / "project"

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def url(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("engine")
    values = {
        "bootstrap.servers": broker.bootstrap,
        "ksqlpy.data.dir": str(folder),
        "ksqlpy.warm.up": "false",
        "commit.interval.ms": 1000,
    }
    engine = Engine(Config.of(values))
    engine.start()
    try:
        with ServerThread(engine) as server:
            yield server.url
    finally:
        engine.stop()


@pytest.fixture
def ksqlpy(url: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs a command: its exit code, and all that it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["--server", url, *arguments])
        done = capsys.readouterr()
        return code, done.out + done.err

    return run


def test_a_project_keeps_its_state(url: str, ksqlpy: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "p")
    folder, results = str(tmp_path / "p" / "sql"), tmp_path / "p" / "sql" / "results.sql"
    given = [folder, "--vars", str(tmp_path / "p" / "dev.vars")]

    code, out = ksqlpy("plan", *given, "--detailed-exitcode")
    assert (code, out.splitlines()[-1]) == (2, "Plan: 6 to create, 0 unchanged")
    code, out = ksqlpy("apply", *given)
    assert (code, out.splitlines()[-1]) == (0, "done: 6 statements")
    assert ksqlpy("plan", *given, "--detailed-exitcode") == (0, "Nothing to do: 6 unchanged\n")

    with Client(url) as client:
        client.statements("INSERT INTO orders VALUES (1, 'ann', 5); INSERT INTO orders VALUES (2, 'ann', 0.50);")
        # The query takes up another condition, and goes on behind what it has read.
        results.write_text(results.read_text().replace("amount >= ${least}", "amount >= ${least} AND id <> 4"))
        seen = client.push("SELECT * FROM spent EMIT CHANGES LIMIT 1;", {"auto.offset.reset": "earliest"})
        assert list(seen)[1:] == [["ann", 1, 5]]
        code, out = ksqlpy("apply", *given)
        assert (code, out.splitlines()[0]) == (0, "~ stream REAL_ORDERS (state kept)")
        client.statements(
            "INSERT INTO orders VALUES (3, 'ann', 7); INSERT INTO orders VALUES (4, 'ann', 9);"
            " INSERT INTO orders VALUES (5, 'ann', 1);"
        )
        seen = client.push("SELECT * FROM spent EMIT CHANGES LIMIT 3;", {"auto.offset.reset": "earliest"})
        assert list(seen)[1:] == [["ann", 1, 5], ["ann", 2, 12], ["ann", 3, 13]]

    # What is not in the files any more stays, until it is to go; that is not done unasked.
    text = results.read_text()
    results.write_text(text[: text.index("-- A second writer")])
    code, out = ksqlpy("plan", *given)
    assert code == 0 and "query AUDIT_ORDERS is not in this project and stays" in out
    code, out = ksqlpy("apply", *given, "--prune")
    assert code == 1 and "error[needs-yes]: the state of AUDIT_ORDERS would be lost" in out
    code, out = ksqlpy("apply", *given, "--prune", "--yes")
    assert code == 0 and "TERMINATE AUDIT_ORDERS;" in out
    code, out = ksqlpy("plan", *given, "--prune", "--output", "json")
    assert code == 0 and json.loads(out)["statements"] == []


def test_migrations(url: str, ksqlpy: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    folder = tmp_path / "m"
    assert ksqlpy("migrate", "new-project", str(folder), url)[0] == 0

    def migrate(*arguments: str) -> tuple[int, str]:
        return ksqlpy("migrate", "-c", str(folder / "ksql-migrations.properties"), *arguments)

    assert "error[no-metadata]" in migrate("info")[1]
    assert migrate("initialize-metadata")[0] == 0
    for name, sql in (
        ("visits", "CREATE STREAM visits (id INT KEY, page STRING)\n  WITH (KAFKA_TOPIC = 'visits',"
         " VALUE_FORMAT = 'JSON', PARTITIONS = 1);\nINSERT INTO visits VALUES (1, '${page}');"),
        ("pages that count", "CREATE TABLE pages AS SELECT page, COUNT(*) AS n FROM visits GROUP BY page;"),
        ("faulty", "CREATE STREAM more AS SELECT * FROM visits;\nCREATE STREAM worse AS SELECT pag FROM visits;"),
    ):  # fmt: skip
        code, out = migrate("create", name)
        Path(out.removeprefix("made ").strip()).write_text(sql)
    assert "V000002__pages_that_count.sql" in {p.name for p in (folder / "migrations").iterdir()}

    code, out = migrate("apply", "--until", "2", "-d", "page=home")
    assert code == 0 and "INSERT INTO visits VALUES (1, 'home');" in out
    code, out = migrate("apply", "--all")
    assert code == 1 and "error[unknown-column]" in out and "CREATE STREAM more" not in out
    code, out = migrate("info", "--output", "json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(r["Version"], r["Name"], r["State"], r["Previous Version"]) for r in rows] == [
        ("1", "visits", "MIGRATED", "<none>"),
        ("2", "pages that count", "MIGRATED", "1"),
        ("3", "faulty", "PENDING", "N/A"),
    ]
    first = folder / "migrations" / "V000001__visits.sql"
    first.write_text(f"{first.read_text()}\n")
    assert "error[file-changed]: V000001__visits.sql is not as it was" in migrate("validate")[1]
    assert migrate("destroy-metadata")[0] == 0
    assert "error[no-metadata]" in migrate("info")[1]
