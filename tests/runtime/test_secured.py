"""A broker with SASL_SSL: every mechanism and every client reaches it, and no secret is seen anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from confluent_kafka import Producer

from ksqlpy.client import Client
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.clients import check_python, tell_jvm
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.records import write_record
from tests.harness.server import Server
from tests.runtime.secured import CLIENT_SECRET, PASSWORD, SECRETS, STORE, Secured, quoted, secured_broker
from tests.support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULES = "org.apache.kafka.common.security"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("certificates")) as started:
        yield started


def plain(s: Secured) -> dict[str, str]:
    """librdkafka's names; key and certificate in files of their own."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": s.files["server.pem"],
        "ssl.key.location": s.files["client.key"],
        "ssl.certificate.location": s.files["client.pem"],
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }


def scram_256(s: Secured) -> dict[str, str]:
    """Java's names, with all certificates in the settings themselves."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.certificates": s.files.text("server.pem").replace("\n", " "),
        "ssl.keystore.key": s.files.text("client.key"),
        "ssl.keystore.certificate.chain": s.files.text("client.pem"),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{MODULES}.scram.ScramLoginModule required username="alice" password={quoted(PASSWORD)};',
    }


def scram_512(s: Secured) -> dict[str, str]:
    """JKS and PKCS#12, and settings that are passed through."""
    return {**s.scram, "kafka.request.timeout.ms": "20000", "kafka.producer.compression.type": "lz4"}


def oauth(s: Secured) -> dict[str, str]:
    """Client credentials; key and certificate in one file."""
    login = f'{MODULES}.oauthbearer.OAuthBearerLoginModule required clientId="client" clientSecret="{CLIENT_SECRET}";'
    return {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": s.files["trust.pkcs12"],
        "ssl.truststore.password": STORE,
        "ssl.keystore.location": s.files["both.pem"],
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": s.tokens.url,
        "sasl.jaas.config": login,
    }


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.parametrize("settings", [plain, scram_256, scram_512, oauth], ids=lambda f: f.__name__)
def test_all_clients_log_in(secured: Secured, spark: SparkSession, settings: Any) -> None:
    connection = KafkaConnection.of(secured.broker.bootstrap, settings(secured))
    topic = f"in_{settings.__name__}"
    check_python(connection)
    kafka = Kafka(connection)
    kafka.check()
    kafka.create_topic(topic, 1, None, {})
    producer = Producer(connection.producer({}))
    producer.produce(topic, b"from Python")
    assert producer.flush(20) == 0
    tell_jvm(spark, connection)
    assert write_record(spark, connection, topic, None, b"from Java", 1, seconds=20) is None
    records = spark.read.format("kafka").options(**connection.spark_source).option("subscribe", topic).load()
    assert {bytes(r.value) for r in records.select("value").collect()} == {b"from Python", b"from Java"}
    shown = records._jdf.queryExecution().toString() + str(connection.spark_source) + repr(connection)  # type: ignore[operator]
    assert not [secret for secret in SECRETS if secret in shown]
    if settings is oauth:
        assert {"Java" in agent for agent in secured.tokens.asked} == {True, False}  # both families


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sasl.username": "alice", "sasl.password": "wrong-1a2b"}, "invalid credentials"),
        ({"ssl.truststore.location": "client.pem"}, "certificate could not be verified"),
        ({"ssl.keystore.location": None, "ssl.keystore.password": None}, "certificate required"),
    ],
    ids=["password", "authority", "no certificate"],
)
def test_what_the_broker_has_against_a_client_is_told(
    secured: Secured, changed: Mapping[str, str | None], reason: str
) -> None:
    settings: dict[str, str | None] = dict(secured.scram)
    if "sasl.password" in changed:
        del settings["sasl.jaas.config"]
    if changed.get("ssl.truststore.location"):
        del settings["ssl.truststore.password"]
        changed = {"ssl.truststore.location": secured.files["client.pem"]}
    kept = {n: v for n, v in {**settings, **changed}.items() if v is not None}
    begun = time.monotonic()
    with pytest.raises(EnvironmentProblem) as refused:
        Kafka(KafkaConnection.of(secured.broker.bootstrap, kept)).check()
    assert time.monotonic() - begun < 10
    assert refused.value.code == "broker-refused"
    assert reason in refused.value.message
    assert "wrong-1a2b" not in refused.value.render()


@pytest.mark.kafka
def test_server_with_a_wrong_password_ends_with_the_reason(secured: Secured, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    settings = {**plain(secured), "sasl.password": "wrong-1a2b", "bootstrap.servers": secured.broker.bootstrap}
    file.write_text("".join(f"{n}={v}\n" for n, v in settings.items()))
    command = [sys.executable, "-m", "ksqlpy", "server", "--port", "0", "--config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode != 0
    assert "error[broker-refused]" in done.stderr
    assert "Invalid username or password" in done.stderr
    assert "wrong-1a2b" not in done.stdout + done.stderr


@pytest.mark.kafka
def test_who_comes_without_tls_is_told_of_the_protocol(secured: Secured) -> None:
    with pytest.raises(EnvironmentProblem, match=r"another security\.protocol than PLAINTEXT"):
        Kafka(KafkaConnection(secured.broker.bootstrap)).check()


# ---------------------------------------------------------------- the server


def send(connection: KafkaConnection, numbers: range) -> None:
    producer = Producer(connection.producer({}))
    for n in numbers:
        producer.produce("numbers", key=b"k", value=json.dumps({"N": n}).encode())
    assert producer.flush(20) == 0


def results(kafka: Kafka, topic: str) -> list[bytes]:
    """All values of the topic's only partition."""
    from confluent_kafka import TopicPartition

    end = kafka.offsets({topic: 1}, latest=True)[topic]["0"]
    reader, found, at = kafka.reader(ends=True), [], 0
    try:
        reader.assign([TopicPartition(topic, 0, 0)])
        while at < end:
            message = reader.poll(10)
            assert message is not None
            if message.error() is not None:  # the last records may be control records
                break
            at = (message.offset() or 0) + 1
            found.append(message.value() or b"")
    finally:
        reader.close()
    return found


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process")
def test_server_is_exactly_once_over_sasl_ssl_and_shows_no_secret(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its code runs a few times only: without the second compiler it is there sooner.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1", prepend=" ")
    monkeypatch.setenv("KSQLPY_WARM_UP", "false")
    connection = KafkaConnection.of(secured.broker.bootstrap, secured.scram)
    kafka = Kafka(connection)
    server = Server(connection, tmp_path)
    try:
        server.start()
        server.statements(
            "SET 'auto.offset.reset' = 'earliest';"
            "CREATE STREAM numbers (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'numbers', PARTITIONS = 1,"
            " VALUE_FORMAT = 'JSON');"
            "CREATE TABLE counts AS SELECT k, COUNT(*) AS c, SUM(n) AS s FROM numbers GROUP BY k EMIT CHANGES;"
        )
        send(connection, range(100))
        assert until(lambda: len(results(kafka, "COUNTS")) >= 100)
        server.kill_jvm()
        send(connection, range(100, 200))
        assert until(lambda: len(results(kafka, "COUNTS")) >= 200)
        seen = [json.loads(value) for value in results(kafka, "COUNTS")]
        assert [row["C"] for row in seen] == list(range(1, 201))
        # The earlier producer was ended, with a control record.
        assert kafka.offsets({"COUNTS": 1}, latest=True)["COUNTS"]["0"] > 200
        assert [row["S"] for row in seen] == [n * (n + 1) // 2 for n in range(200)]
        (query,) = server.queries()
        answers = [
            server.statements(sql)
            for sql in ("SHOW PROPERTIES;", "DESCRIBE counts EXTENDED;", f"EXPLAIN {query};", "SHOW QUERIES EXTENDED;")
        ]
        with Client(server._client.url) as client:
            answers.append([client.info()])
        listed = {p["name"]: p["value"] for p in answers[0][0]["properties"]}
        assert listed["sasl.mechanism"] == "SCRAM-SHA-512"
        assert listed["sasl.jaas.config"] == listed["ssl.keystore.password"] == "[hidden]"
        processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        commands = []
        for process in processes:
            # A process of the killed JVM may have ended meanwhile, or wait to be reaped: it has no command line.
            with contextlib.suppress(psutil.NoSuchProcess):
                commands.append(" ".join(process.cmdline()))
        assert any("spark" in c for c in commands)
    finally:
        server.close()
    internal = {t: results(kafka, t) for t in kafka.topics() if t.startswith("_ksqlpy-default_")}
    assert any("command_log" in t and found for t, found in internal.items())
    files = [f for f in tmp_path.rglob("*") if f.is_file() and f.name != "server.properties"]
    assert any("checkpoints" in f.parts for f in files)
    places = {
        "answers": json.dumps(answers),
        "command lines": "\n".join(commands),
        **{t: repr(found) for t, found in internal.items()},
        **{str(f): f.read_bytes().decode(errors="replace") for f in files},
    }
    assert not [f"{secret} in {name}" for name, text in places.items() for secret in forms() if secret in text]


def forms() -> set[str]:
    """The secrets, as they are and as they stand in JSON and JAAS."""
    return {form for s in SECRETS for form in (s, quoted(s)[1:-1], json.dumps(s)[1:-1], json.dumps(quoted(s))[1:-1])}


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("the whole demo")
def test_demo_passes_on_a_secured_broker(secured: Secured, tmp_path: Path) -> None:
    file = tmp_path / "kafka.properties"
    file.write_text("".join(f"{n}={v}\n" for n, v in plain(secured).items() if n != "sasl.password"))
    command = [sys.executable, "-m", "ksqlpy", "demo", "--quiet", "--config", str(file)]
    command += ["--bootstrap-servers", secured.broker.bootstrap]
    before = set(Kafka(KafkaConnection(secured.broker.inner)).topics())
    done = subprocess.run(
        command, env={**os.environ, "KSQLPY_SASL_PASSWORD": PASSWORD}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks passed" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    assert set(Kafka(KafkaConnection(secured.broker.inner)).topics()) == before
