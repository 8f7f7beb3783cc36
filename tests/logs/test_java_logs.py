"""Lines of JVMs that the server starts have the server's form, and their levels change while they run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.logs import LEVELS, keep_java_settings
from ksqlpy.logs.java import _kept
from ksqlpy.spark.gateway import jvm_of
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    LEVELS.form = "text"
    LEVELS.set({})


def lines(file: Path, word: str) -> list[str]:
    return [line for line in file.read_text("utf-8").splitlines() if word in line]


def test_levels_and_form_of_spark(spark: SparkSession) -> None:
    file = [log for log in _kept.values() if log is not None and log.exists()][-1]
    jvm: Any = jvm_of(spark)
    log = jvm.org.apache.logging.log4j.LogManager.getLogger("ksqlpy.tests.Java")
    thread = jvm.java.lang.Thread.currentThread()

    def seen(word: str) -> bool:
        """Whether a line of DEBUG is written by now."""
        log.debug(word)
        return bool(until(lambda: lines(file, word), 0.5))

    assert not seen("too early")
    LEVELS.set({"ksqlpy.tests": "DEBUG"})
    assert until(lambda: seen("as text"))
    told = lines(file, "as text")[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} DEBUG ksqlpy\.tests\.Java: as text", told)
    log.warn("goes on\n2026-11-30 FATAL forged", jvm.java.lang.RuntimeException("so does\nthis"))
    following = until(lambda: file.read_text("utf-8").partition("goes on\n")[2]).splitlines()
    assert following[:3] == ["    2026-11-30 FATAL forged", "    java.lang.RuntimeException: so does", "    this"]

    LEVELS.form = "json"
    LEVELS.set({"ksqlpy.tests": "DEBUG"})
    assert until(lambda: seen("as {form}") and lines(file, "as {form}")[-1].startswith("{"))
    name = thread.getName()
    thread.setName('stream execution thread for CTAS_"X"_1 [id = 7, runId = 8]')
    try:
        log.warn('a "quoted" text\nin two lines\twith a tab', jvm.java.lang.RuntimeException("it fails\nbadly"))
    finally:
        thread.setName(name)
    said = json.loads(until(lambda: lines(file, "quoted"))[0])
    assert said.pop("trace").startswith("java.lang.RuntimeException: it fails\nbadly\n\tat ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said.pop("time"))
    assert said.pop("thread").startswith("stream execution thread for")
    assert said == {
        "level": "WARN",
        "logger": "ksqlpy.tests.Java",
        "query": 'CTAS_"X"_1',
        "message": 'a "quoted" text\nin two lines\twith a tab',
    }

    LEVELS.form = "text"
    LEVELS.set({})
    words = (f"too late {n}" for n in range(1000))
    assert until(lambda: not seen(next(words)))


@pytest.mark.kafka
def test_levels_and_form_of_the_broker(tmp_path: Path) -> None:
    settings = tmp_path / "log4j2.properties"
    LEVELS.form = "json"
    keep_java_settings(settings)
    with EmbeddedKafka(folder=tmp_path / "kafka", log_settings=settings) as kafka:
        found = [json.loads(line) for line in kafka.log_file.read_text("utf-8").splitlines() if line.startswith("{")]
        assert found and {e["level"] for e in found} <= {"INFO", "WARN", "ERROR"}
        LEVELS.set({"org.apache.kafka.storage": "DEBUG", "kafka": "DEBUG", "org.apache.kafka.coordinator": "DEBUG"})
        assert until(lambda: lines(kafka.log_file, '"level":"DEBUG"'))
