"""Which garbage collector the JVMs of a cluster get."""

from __future__ import annotations

import os
import subprocess

import pytest

from ksqlpy.embedded.collectors import small_collector
from ksqlpy.embedded.java import find_java


@pytest.mark.parametrize(
    ("processors", "heap", "options", "serial"),
    [
        pytest.param(2, "1g", "", True, id="two processors"),
        pytest.param(1, "700m", "-Dx=y", True, id="one processor"),
        pytest.param(4, "1g", "", False, id="G1 has processors for its threads"),
        pytest.param(2, "2g", "", True, id="the largest heap"),
        pytest.param(2, "3g", "", False, id="a large heap"),
        pytest.param(2, "1024", "", True, id="a number alone is MiB"),
        pytest.param(2, "1t", "", False, id="another unit"),
        pytest.param(2, "much", "", False, id="Spark refuses it"),
        pytest.param(2, "1g", "-Xss1m -XX:+UseParallelGC", False, id="a user's collector stays"),
        pytest.param(2, "1g", "-XX:+UseStringDeduplication", True, id="no collector"),
    ],
)
def test_the_serial_collector_is_for_few_processors_and_small_heaps(
    monkeypatch: pytest.MonkeyPatch, processors: int, heap: str, options: str, serial: bool
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert small_collector(heap, options) == (("-XX:+UseSerialGC",) if serial else ())


@pytest.mark.java
def test_java_knows_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    command = [str(find_java().executable), *small_collector("1g", ""), "-XX:+PrintFlagsFinal", "-version"]
    flags = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split()[3] for line in flags.splitlines() if " UseSerialGC " in line] == ["true"]
