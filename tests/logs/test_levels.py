"""Levels change while a process runs, in Python and in the settings of Java."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from ksqlpy.access import Principal, asking
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import ConfigProblem
from ksqlpy.logs import LEVELS, JsonLines, Levels, TextLines, begin, keep_java_settings, parsed
from ksqlpy.logs.java import settings_text
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, form = list(root.handlers), root.level, LEVELS.form
    yield
    LEVELS.set({})
    root.handlers, LEVELS.form = handlers, form
    root.setLevel(level)


def test_those_that_are_not_named_any_more_are_as_before() -> None:
    one, other, levels = logging.getLogger("tests.one"), logging.getLogger("tests.other"), Levels()
    other.setLevel(logging.ERROR)
    levels.set({"tests.one": "DEBUG", "tests.other": "OFF", "root": "INFO"})
    assert one.isEnabledFor(logging.DEBUG) and not other.isEnabledFor(logging.CRITICAL)
    assert logging.getLogger("tests.third").isEnabledFor(logging.INFO)
    levels.set({"tests.one": "WARN"})
    assert (one.level, other.level) == (logging.WARNING, logging.ERROR)
    levels.set({})
    assert one.level == logging.NOTSET and dict(levels.now) == {}


@pytest.mark.parametrize("named", [{"root": "DEBUG"}, {"hpack": "DEBUG"}, {"py4j": "DEBUG", "hpack": "INFO"}])
def test_loggers_that_write_secrets_say_no_more_than_info(named: dict[str, str]) -> None:
    """hpack logs headers, with logins in them, py4j calls with the settings of Kafka's clients."""
    hpack, py4j, levels = logging.getLogger("hpack"), logging.getLogger("py4j"), Levels()
    before = hpack.level, py4j.level
    levels.set(named)
    assert not hpack.isEnabledFor(logging.DEBUG) and not py4j.isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("hpack.hpack").isEnabledFor(logging.DEBUG)
    levels.set({})
    assert (hpack.level, py4j.level) == before


def test_others_are_told() -> None:
    levels, told = Levels(), []
    end = levels.tell(lambda named: told.append(dict(named)))
    levels.set({"tests.one": "DEBUG"})
    end()
    levels.set({})
    assert told == [{"tests.one": "DEBUG"}]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("", ""),
        (" root = info ,org.apache.spark=Debug,", "root=INFO,org.apache.spark=DEBUG"),
        ("a=WARNING, b=CRITICAL, c$d=off", "a=WARN,b=FATAL,c$d=OFF"),
        ("a=1", None),
        ("a=LOUD", None),
        ("DEBUG", None),
        ("a\nlogger.x=DEBUG", None),
        ("a=DEBUG\n", "a=DEBUG"),
        ("${sys:user.name}=DEBUG", None),
        (",".join(f"a{n}=INFO" for n in range(101)), None),
    ],
)
def test_the_property(given: str, kept: str | None) -> None:
    if kept is None:
        with pytest.raises(ConfigProblem, match=r"ksqlpy\.log\.levels"):
            Config.of({"ksqlpy.log.levels": given})
        return
    assert Config.of({"ksqlpy.log.levels": given}).get("ksqlpy.log.levels") == kept
    assert parsed(kept) == dict(pair.split("=") for pair in kept.split(",") if pair)


def test_a_process_writes_lines_in_its_form(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = logging.getLogger("tests.form")
    begin(Config.of({}))
    log.warning("plain")
    begin(Config.of({"ksqlpy.log.format": "json", "ksqlpy.log.levels": "tests.form=DEBUG"}))
    log.debug("as JSON: %s", "ä")
    begin(Config.of({}), tmp_path / "file")
    log.warning("into a file")
    text, line = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARN tests\.form: plain", text)
    said = json.loads(line)
    assert (said["level"], said["logger"], said["message"]) == ("DEBUG", "tests.form", "as JSON: ä")
    assert (tmp_path / "file").read_text().endswith("WARN tests.form: into a file\n")


def test_the_name_of_a_principal_forges_no_line() -> None:
    record = logging.LogRecord("ksqlpy.server", logging.INFO, "", 0, "said", (), None)
    with asking(Principal("eve\r\n2026 FATAL\x1b[2J", how="jwt")):
        text, line = TextLines().format(record), JsonLines().format(record)
    assert text.endswith(" INFO ksqlpy.server [by eve??2026 FATAL?[2J]: said")
    assert "\n" not in line and json.loads(line)["principal"] == "eve\r\n2026 FATAL\x1b[2J"


def test_half_a_character_is_written_as_json() -> None:
    line = JsonLines().format(logging.LogRecord("ksqlpy.server", logging.INFO, "", 0, "\ud800", (), None))
    assert json.loads(line.encode("ascii"))["message"] == "\ud800"


def test_settings_of_java_follow(tmp_path: Path) -> None:
    settings, broker = tmp_path / "log4j2.properties", tmp_path / "broker.properties"
    keep_java_settings(settings, tmp_path / "spark.log")
    keep_java_settings(broker)
    LEVELS.set({"root": "DEBUG", "org.apache.spark": "INFO"})
    named = r"logger\.l\d\.name = org\.apache\.spark\nlogger\.l\d\.level = info\n"
    assert "rootLogger.level = debug" in settings.read_text() and re.search(named, settings.read_text())
    assert "rootLogger.level = info" in broker.read_text() and re.search(named, broker.read_text())
    LEVELS.set({})
    assert "rootLogger.level = warn" in settings.read_text() and "spark =" not in settings.read_text()
    assert [f.name for f in tmp_path.iterdir() if f.name.startswith(".")] == []


def test_settings_of_a_jvm_whose_folder_is_gone_are_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    keep_java_settings(folder / "log4j2.properties", folder / "spark.log")
    (folder / "log4j2.properties").unlink()
    folder.rmdir()
    LEVELS.set({"tests.one": "DEBUG"})
    assert not folder.exists()


def test_settings_name_their_file() -> None:
    text = settings_text(Path("/x/spark.log"), "json", {})
    assert "appender.own.fileName = /x/spark.log\n" in text and '"level":"%p"' in text
    assert "appender.own.type = Console" in settings_text(None, "text", {})


def test_lines_of_librdkafka_come_if_they_are_wanted(caplog: pytest.LogCaptureFixture) -> None:
    def told() -> list[str]:
        consumer = Consumer(KafkaConnection("127.0.0.1:1").consumer({"group.id": "x"}))
        try:
            consumer.poll(1.0)
        finally:
            consumer.close()
        found = [r.getMessage() for r in caplog.records if r.name == "librdkafka"]
        caplog.clear()
        return found

    assert told() == []
    LEVELS.set({"librdkafka": "INFO"})
    assert any("127.0.0.1:1" in line for line in until(told, 20))
    LEVELS.set({})
    assert told() == []
