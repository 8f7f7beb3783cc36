"""Queries run without what only makes them quick: without its Java classes, and where a setting turns it off."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem
from ksqlpy.spark.jvm.build import helper_jar
from ksqlpy.spark.speedups import SETTING, SPEEDUPS, settings_without, warnings_about

RULES = "spark.sql.optimizer.excludedRules"


def test_nothing_is_off_by_itself() -> None:
    assert settings_without([], {RULES: "x"}) == {RULES: "x"}
    assert warnings_about([], {}, {}) == []


def test_a_user_turns_one_off() -> None:
    made = settings_without([], {SETTING: " state-metadata,  expression-reader", RULES: "x"})
    assert made == {SETTING: "expression-reader,state-metadata", RULES: "x"}
    first, second = warnings_about(["expression-reader", "state-metadata"], {}, made)
    assert first.startswith(f"the speed-up expression-reader is off, since {SETTING} names it: Spark's grammar")
    assert second.startswith("the speed-up state-metadata is off")


def test_one_that_a_member_is_missing_for_is_off_besides() -> None:
    made = settings_without(["optimizer-rules"], {SETTING: "state-metadata", RULES: "x"})
    assert made == {SETTING: "state-metadata,optimizer-rules"}
    lines = warnings_about(["state-metadata"], {"optimizer-rules": "org.apache.spark.Rule$"}, made)
    assert [line.partition(":")[0] for line in lines] == [
        f"the speed-up state-metadata is off, since {SETTING} names it",
        "the speed-up optimizer-rules is off, since this Spark lacks org.apache.spark.Rule$",
    ]


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ConfigProblem, match="there is no speed-up quick-code") as e:
        settings_without([], {SETTING: "quick-code"})
    assert e.value.code == "invalid-property"


PROGRAM = """
import logging
import sys
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from ksqlpy.spark import session as sessions
from ksqlpy.testing import KafkaRunner, check
from tests.streams.side_by_side import CASES, SHAPES

jar, folder, bootstrap, master = sys.argv[1:]
sessions.helper_jar = lambda progress=None: Path(jar)
logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stdout)
wanted = [
    SHAPES[kind]
    for kind in ("a filter, and queries in a chain", "an aggregate, and several partitions", "a session window",
                 "a stream-stream join", "a stream-table join", "a table-table join")
]
engine = Engine(
    Config.of(
        {
            "bootstrap.servers": bootstrap,
            "ksqlpy.data.dir": folder,
            "ksqlpy.spark.master": master,
            "ksqlpy.spark.memory": "700m",
            "ksql.service.id": f"without_{master[:5]}{len(master)}_",
        }
    )
)
engine.start()
try:
    for case in CASES:
        if f"{case.file.stem}: {case.name}" in wanted:
            check(case, KafkaRunner(engine, 180))
            print("passed:", case.name)
finally:
    engine.stop()
"""
"""Cases of tests/streams on Kafka, one after the other, with another jar of our classes."""


@pytest.mark.extended("a second JVM, and a Spark cluster")
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("master", ["local[8]", pytest.param("local-cluster[1,8,1024]", id="cluster")])
def test_queries_run_without_the_classes_of_speed_ups(broker: EmbeddedKafka, tmp_path: Path, master: str) -> None:
    jar = tmp_path / "required.jar"
    with zipfile.ZipFile(helper_jar()) as whole, zipfile.ZipFile(jar, "w") as made:
        left_out = [name for name in whole.namelist() if name.startswith("ksqlpy/speedups/")]
        for name in whole.namelist():
            if name not in left_out:
                made.writestr(name, whole.read(name))
    assert len(left_out) > 5
    command = [sys.executable, "-c", PROGRAM, str(jar), str(tmp_path / "data"), broker.bootstrap, master]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert len([line for line in said if line.startswith("passed: ")]) == 6
    warned = [line for line in said if "speed-up" in line]
    expected = [
        f"WARNING the speed-up {name} is off, since its Java classes are missing: {slower}"
        for name, slower in SPEEDUPS.items()
        if name != "optimizer-rules"
    ]
    assert warned == expected
    log = (tmp_path / "data" / "spark" / "spark.log").read_text("utf-8")
    assert "ksqlpy/speedups" not in log and "ksqlpy.speedups" not in log, "something asked for what is not there"
