"""Masters of Spark: which there are, where tasks run, and what a server on other machines needs."""

from __future__ import annotations

import pytest

from ksqlpy.__main__ import main
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.runtime import Engine
from ksqlpy.spark.masters import check_cluster, check_master, local_slots, on_one_machine, one_jvm, settings_for
from ksqlpy.spark.userconf import allowed


@pytest.mark.parametrize(
    ("master", "tasks", "machines", "slots"),
    [
        ("local", "one JVM", "one", 1),
        ("local[512]", "one JVM", "one", 512),
        ("local[*]", "one JVM", "one", None),
        ("local-cluster[2,8,1024]", "executors", "one", None),
        ("spark://127.0.0.1:7077", "executors", "one", None),
        ("spark://localhost:7077", "executors", "one", None),
        ("spark://master:7077", "executors", "several", None),
        ("spark://master:7077,standby:7077", "executors", "several", None),
        ("k8s://https://10.0.0.1:443", "executors", "several", None),
        ("yarn", "executors", "several", None),
    ],
)
def test_where_tasks_run(master: str, tasks: str, machines: str, slots: int | None) -> None:
    check_master(master)
    assert one_jvm(master) == (tasks == "one JVM")
    assert on_one_machine(master) == (machines == "one")
    assert local_slots(master) == slots
    settings = settings_for(master)
    assert ("spark.plugins" in settings) == (tasks == "executors")
    assert ("spark.driver.host" in settings) == (machines == "one")


@pytest.mark.parametrize(
    "master", ["", "locall[2]", "local[x]", "local-cluster[2,8]", "mesos://m:5050", "spark:master"]
)
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(ConfigProblem) as refused:
        check_master(master)
    assert refused.value.code == "invalid-property"


@pytest.mark.parametrize(
    ("checkpoints", "bootstrap", "code"),
    [
        ("", "kafka:9092", "checkpoint-not-shared"),
        ("/var/lib/ksqlpy", "kafka:9092", "checkpoint-not-shared"),
        ("file:///var/lib/ksqlpy", "kafka:9092", "checkpoint-not-shared"),
        ("hdfs://namenode/ksqlpy", "", "cluster-needs-brokers"),
        ("s3a://bucket/ksqlpy", "kafka:9092", None),
    ],
)
def test_what_other_machines_must_reach(checkpoints: str, bootstrap: str, code: str | None) -> None:
    check_cluster("local-cluster[2,8,1024]", checkpoints, bootstrap)
    if code is None:
        check_cluster("spark://master:7077", checkpoints, bootstrap)
        return
    with pytest.raises(ConfigProblem) as refused:
        check_cluster("spark://master:7077", checkpoints, bootstrap)
    assert refused.value.code == code


def test_a_server_says_so_before_it_starts_anything() -> None:
    engine = Engine(Config.of({"ksqlpy.spark.master": "spark://master:7077"}))
    with pytest.raises(ConfigProblem) as refused:
        engine.start()
    assert refused.value.code == "checkpoint-not-shared"


@pytest.mark.parametrize("name", ["spark.dynamicAllocation.enabled", "spark.plugins", "spark.task.maxFailures"])
def test_settings_of_a_cluster_that_must_stay(name: str) -> None:
    with pytest.raises(ConfigProblem) as refused:
        allowed({name: "x"}, {"spark.task.maxFailures": "1", **settings_for("spark://master:7077")})
    assert refused.value.code == "reserved-setting"


def test_the_doctor_names_what_is_wrong_with_the_master(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "-D", "ksqlpy.spark.master=spark://master:7077"]) == 1
    said = capsys.readouterr().out
    assert "ok    Java " in said
    assert "fail  Spark master spark://master:7077\n      error[checkpoint-not-shared]: " in said
