"""The secret of a cluster: where it comes from, that no command line shows it, and who is refused without it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.spark_cluster import SparkCluster
from ksqlpy.errors import ConfigProblem
from ksqlpy.runtime import Engine
from ksqlpy.spark.launch import Launch
from ksqlpy.spark.secret import authenticated
from tests.harness.broker import Broker
from tests.harness.server import Server
from tests.support.waiting import until

ON, SECRET = "spark.authenticate", "spark.authenticate.secret"
SECRET_OF_THE_CLUSTER = "of-master-and-workers"


@pytest.fixture
def file(tmp_path: Path) -> str:
    found = tmp_path / "secret"
    found.write_text("hush\n", encoding="utf-8")
    return str(found)


def test_each_start_of_a_local_cluster_has_a_secret_of_its_own() -> None:
    first, second = (authenticated("local-cluster[2,8,1024]", {"spark.executor.memory": "1g"}, "") for _ in range(2))
    assert first[ON] == second[ON] == "true" and first["spark.executor.memory"] == "1g"
    assert len(first[SECRET]) == len(second[SECRET]) == 64 and first[SECRET] != second[SECRET]


@pytest.mark.parametrize("master", ["spark://master:7077", "spark://127.0.0.1:7077", "local-cluster[2,8,1024]"])
def test_it_is_that_of_the_file_or_of_the_property(master: str, file: str) -> None:
    assert authenticated(master, {}, file) == {ON: "true", SECRET: "hush"}
    assert authenticated(master, {SECRET: "mine"}, "") == {ON: "true", SECRET: "mine"}


@pytest.mark.parametrize("master", ["k8s://https://host:443", "yarn"])
def test_spark_makes_it_where_it_hands_it_on_itself(master: str) -> None:
    assert authenticated(master, {}, "") == {ON: "true"}


@pytest.mark.parametrize("master", ["local[512]", "local", "spark://127.0.0.1:7077"])
def test_ports_on_loopback_need_none(master: str) -> None:
    assert authenticated(master, {}, "") == {}


@pytest.mark.parametrize("master", ["spark://master:7077", "k8s://https://host:443", "local-cluster[2,8,1024]"])
def test_it_can_be_left_out(master: str) -> None:
    assert authenticated(master, {ON: "false"}, "") == {ON: "false"}


@pytest.mark.parametrize(("master", "given"), [("spark://master:7077", {}), ("spark://127.0.0.1:7077", {ON: "true"})])
def test_a_cluster_of_others_without_one_is_refused(master: str, given: dict[str, str]) -> None:
    with pytest.raises(ConfigProblem) as refused:
        authenticated(master, given, "")
    assert refused.value.code == "cluster-without-secret" and "ksqlpy.spark.secret.file" in str(refused.value.hint)


def test_the_server_refuses_it_before_it_starts_anything(tmp_path: Path) -> None:
    given = {
        "ksqlpy.spark.master": "spark://master:7077",
        "ksqlpy.checkpoint.dir": "hdfs://name/ksqlpy",
        "bootstrap.servers": "127.0.0.1:1",
        "ksqlpy.data.dir": str(tmp_path),
    }
    with pytest.raises(ConfigProblem) as refused:
        Engine(Config.of(given)).start()
    assert refused.value.code == "cluster-without-secret"


@pytest.mark.parametrize(
    ("master", "given", "said"),
    [
        ("local[512]", {}, "the master is local[512]"),
        ("k8s://https://host:443", {}, "the master is k8s://https://host:443"),
        ("spark://master:7077", {SECRET: "other"}, "ksqlpy.spark.conf.spark.authenticate.secret says the secret, too"),
        ("spark://master:7077", {ON: "false"}, "says that there is no secret"),
    ],
)
def test_a_file_that_would_not_be_used_is_refused(master: str, given: dict[str, str], said: str, file: str) -> None:
    with pytest.raises(ConfigProblem) as refused:
        authenticated(master, given, file)
    assert refused.value.code == "invalid-property" and said in str(refused.value)
    assert "hush" not in str(refused.value) and "other" not in str(refused.value)


@pytest.mark.parametrize(("text", "code"), [("", "invalid-property"), (None, "file-unreadable")])
def test_a_file_without_a_secret(text: str | None, code: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigProblem) as refused:
        authenticated("spark://master:7077", {}, str(file))
    assert refused.value.code == code


def test_no_command_line_has_what_a_user_has_set_that_may_be_a_secret() -> None:
    settings = {
        SECRET: "1",
        "spark.hadoop.fs.s3a.secret.key": "2",
        "spark.hadoop.fs.azure.account.key.name": "3",
        "spark.ssl.keyPassword": "4",
        "spark.executor.memory": "1g",
        "spark.hadoop.fs.file.impl": "ours",
    }
    launch = Launch(settings, {}, Path("work"), frozenset(settings) - {"spark.hadoop.fs.file.impl"})
    assert launch.open_settings == {"spark.executor.memory": "1g", "spark.hadoop.fs.file.impl": "ours"}
    assert sorted(launch.secrets.values()) == ["1", "2", "3", "4"]


FOREIGN = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master(sys.argv[1]).config("spark.driver.host", "127.0.0.1")
session = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate()
print("it has computed", session.range(10).count(), flush=True)
"""


def computes(master: str, *settings: str, seconds: float = 40) -> bool:
    """Whether an application of somebody else gets executors in time; Spark asks the Master again and again."""
    options = " ".join([*(f"--conf {s}" for s in settings), "pyspark-shell"])
    environ = {"PYSPARK_SUBMIT_ARGS": options, "SPARK_LOCAL_IP": "127.0.0.1"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", FOREIGN, master],
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **find_java().environ(), **environ},
            check=False,
        )
    except subprocess.TimeoutExpired as e:
        return b"it has computed" in (e.stdout or b"")
    return "it has computed 10" in done.stdout


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a Spark cluster with a secret")
def test_who_knows_it_gets_executors_and_nobody_else(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET_OF_THE_CLUSTER}\n", encoding="utf-8")
    broker = Broker(tmp_path / "broker")
    broker.start()
    connection = KafkaConnection(broker.bootstrap)
    with SparkCluster(2, 8, "1g", tmp_path / "cluster", SECRET_OF_THE_CLUSTER) as spark:
        more = {
            "ksqlpy.spark.master": spark.master,
            "ksqlpy.spark.secret.file": str(secret),
            "ksqlpy.spark.conf.spark.executor.memory": "700m",
            "ksqlpy.spark.conf.spark.cores.max": "8",
            "ksqlpy.spark.conf.spark.executor.cores": "4",
            "ksqlpy.warm.up": "false",
        }
        server = Server(connection, tmp_path, more)
        try:
            server.start()
            server.statements(
                "SET 'auto.offset.reset' = 'earliest';"
                "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);"
                "CREATE TABLE counts WITH (KAFKA_TOPIC='counts') AS SELECT n, COUNT(*) AS c FROM s GROUP BY n;"
                "INSERT INTO s VALUES ('a', 1);",
                60,
            )
            assert until(lambda: [json.loads(m.value() or b"") for m in records(connection, {"counts": {}})]) == [
                {"C": 1}
            ]
            shown = ""
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):  # it has just ended
                    shown += " ".join(process.cmdline())
            assert "CoarseGrainedExecutorBackend" in shown and SECRET_OF_THE_CLUSTER not in shown
        finally:
            server.close()
            broker.end()
        on, secret_ = f"{ON}=true", f"{SECRET}={SECRET_OF_THE_CLUSTER}"
        assert computes(spark.master, on, secret_, seconds=180)
        assert not computes(spark.master)
        assert not computes(spark.master, on, f"{SECRET}=guessed")
    log = (tmp_path / "cluster" / "master.log").read_text(encoding="utf-8")
    assert log.count("Registered app") == 2  # the server's and the first of the others
    assert "Expected SaslMessage" in log and "digest response format violation" in log
