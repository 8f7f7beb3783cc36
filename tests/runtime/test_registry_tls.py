"""The schema registry by TLS, with certificates made here: the client in Python, and that of a running query."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import get_field
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.registry import SchemaRegistry
from ksqlpy.runtime import Engine
from ksqlpy.runtime.entities import properties
from ksqlpy.testing.registry import Registry
from tests.runtime.secured import STORE, Certificates
from tests.runtime.test_avro_restart import EARLIEST, results, schema, send
from tests.support.waiting import until

pytestmark = pytest.mark.java  # keytool

PREFIX = "ksql.schema.registry."
KEY_PASSWORD = "key-71d0"


class Made(Certificates):
    """As of the brokers, with a server of another host's name, and keys in more forms."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=elsewhere"]
        command += ["-addext", "subjectAltName=DNS:elsewhere", "-keyout", self["other.key"], "-out", self["other.pem"]]
        subprocess.run(command, capture_output=True, check=True)
        command = ["openssl", "pkcs8", "-topk8", "-in", self["client.key"], "-out", self["locked.key"]]
        subprocess.run([*command, "-passout", f"pass:{KEY_PASSWORD}"], capture_output=True, check=True)
        keytool = [str(find_java().executable), "-m", "java.base/sun.security.tools.keytool.Main"]
        command = [*keytool, "-importkeystore", "-noprompt", "-srckeystore", self["client.p12"], "-srcstorepass", STORE]
        command += ["-destkeystore", self["client.jks"], "-deststoretype", "JKS", "-deststorepass", STORE]
        subprocess.run([*command, "-destkeypass", KEY_PASSWORD], capture_output=True, check=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("certificates"))


def serving(made: Made, name: str = "server", *, mutual: bool = False) -> Registry:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made[f"{name}.pem"], made[f"{name}.key"])
    if mutual:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(made["client.pem"])
    return Registry(tls=context).start()


@pytest.fixture(scope="module")
def mutual(made: Made) -> Iterator[Registry]:
    registry = serving(made, mutual=True)
    yield registry
    registry.stop()


def config(url: str, settings: dict[str, str]) -> Config:
    return Config.of({f"{PREFIX}url": url, **{f"{PREFIX}ssl.{n}": v for n, v in settings.items()}})


def client(url: str, settings: dict[str, str]) -> SchemaRegistry:
    found = config(url, settings).registry()
    assert found is not None
    return found


def own(made: Made, form: str) -> dict[str, str]:
    """A truststore and a keystore of the form."""
    trusted = {"truststore.location": made[f"trust.{form}"], "truststore.password": STORE}
    match form:
        case "jks":
            stored = {"keystore.location": made["client.jks"], "key.password": KEY_PASSWORD}
        case "pkcs12":
            stored = {"keystore.location": made["client.p12"], "keystore.type": "PKCS12"}
        case "pem":
            return {"truststore.location": made["server.pem"], "keystore.location": made["both.pem"]}
        case _:
            return {
                "truststore.certificates": made.text("server.pem").replace("\n", " "),
                "keystore.key": made.text("locked.key"),
                "keystore.certificate.chain": made.text("client.pem"),
                "key.password": KEY_PASSWORD,
            }
    return {**trusted, **stored, "keystore.password": STORE}


@pytest.mark.spark
@pytest.mark.parametrize("form", ["jks", "pkcs12", "pem", "texts"])
def test_both_clients_show_their_certificate(form: str, made: Made, mutual: Registry, spark: SparkSession) -> None:
    registry = client(mutual.url(), own(made, form))
    text = f'{{"type":"fixed","name":"{form}","size":1}}'
    assert by_java(spark, registry, registry.register(f"{form}-value", text)) == text


def by_java(spark: SparkSession, registry: SchemaRegistry, number: int) -> Any:
    from ksqlpy.spark.clients import tell_registry

    tell_registry(spark, registry)
    jvm: Any = spark._jvm
    return get_field(jvm.ksqlpy.clients.Registry.schema(number, "AVRO"), "text")


def test_without_a_certificate_of_the_client_there_is_no_answer(made: Made, mutual: Registry) -> None:
    with pytest.raises(EngineProblem, match=r"no connection by TLS: .*certificate required") as refused:
        client(mutual.url(), {"truststore.location": made["server.pem"]}).latest("t")
    assert refused.value.code == "registry-away" and "registry.ssl" in str(refused.value.hint)


def test_a_server_that_is_not_trusted_is_not_asked(made: Made) -> None:
    registry = serving(made)
    for settings in ({}, {"truststore.location": made["client.pem"]}):
        with pytest.raises(EngineProblem, match=r"no connection by TLS: self-signed certificate"):
            client(registry.url(), settings).latest("t")
    assert registry.asked == []
    registry.stop()


@pytest.mark.spark
def test_the_name_of_the_host_is_checked_unless_it_is_said_otherwise(made: Made, spark: SparkSession) -> None:
    registry = serving(made, "other")
    trusted = {"truststore.location": made["other.pem"]}
    with pytest.raises(EngineProblem, match=r"no connection by TLS: IP address mismatch"):
        client(registry.url(), trusted).latest("t")
    lenient = client(registry.url(), {**trusted, "endpoint.identification.algorithm": ""})
    assert by_java(spark, lenient, lenient.register("t", '"int"')) == '"int"'
    with pytest.raises(EngineProblem, match="no connection by TLS"):  # of any name, not of anyone
        client(
            registry.url(), {"truststore.location": made["client.pem"], "endpoint.identification.algorithm": ""}
        ).latest("t")
    registry.stop()


REFUSED: dict[str, tuple[str, dict[str, str], str]] = {
    "no https": ("http://r:1", {"truststore.location": "{server.pem}"}, "no address of ksql.schema.registry.url"),
    "no file": ("https://r", {"truststore.location": "/nowhere/ca.pem"}, "truststore.location cannot be read"),
    "wrong password": ("https://r", {"truststore.location": "{trust.jks}", "truststore.password": "s3cret"},
                       "password was incorrect"),
    "key's password": ("https://r", {"keystore.location": "{client.jks}", "keystore.password": STORE,
                                     "key.password": "s3cret"}, "key in .*client.jks"),
    "store's password": ("https://r", {"keystore.location": "{client.p12}", "keystore.password": "s3cret"},
                         "key in .*password was incorrect"),
    "no password": ("https://r", {"keystore.location": "{client.p12}"}, "ssl.keystore.password of .* is missing"),
    "locked": ("https://r", {"keystore.key": "{{locked.key}}", "keystore.certificate.chain": "{{client.pem}}",
                             "key.password": "s3cret"}, "its password is wrong"),
    "another key": ("https://r", {"keystore.key": "{{server.key}}", "keystore.certificate.chain": "{{client.pem}}"},
                    "not that of the certificate"),
    "no chain": ("https://r", {"keystore.key": "{{server.key}}"}, "registry.ssl.keystore.certificate.chain is missing"),
    "no key": ("https://r", {"keystore.location": "{server.pem}"}, "keystore.location holds no PRIVATE KEY"),
    "only authorities": ("https://r", {"keystore.location": "{trust.jks}", "keystore.password": STORE},
                         "it holds no keys, and must hold one"),
    "other type": ("https://r", {"truststore.location": "{trust.jks}", "truststore.type": "BKS"},
                   "ssl.truststore.type is BKS, but the file"),
    "no store": ("https://r", {"truststore.password": "s3cret"}, "truststore.password is set, but no file"),
    "two": ("https://r", {"truststore.location": "{server.pem}", "truststore.certificates": "{{server.pem}}"},
            "say the same in two ways"),
    "names": ("https://r", {"endpoint.identification.algorithm": "ldaps"}, "must be https, or empty"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_the_start_with_the_reason_and_without_secrets(case: str, made: Made) -> None:
    url, settings, reason = REFUSED[case]
    settings = {
        n: made.text(v.strip("{}")) if v.startswith("{{") else made[v.strip("{}")] if v.startswith("{") else v
        for n, v in settings.items()
    }
    with pytest.raises(ConfigProblem, match=reason) as refused:
        config(url, settings).registry()
    assert refused.value.code == "security-setting"
    assert not [s for s in ("s3cret", STORE, "PRIVATE KEY-") if s in refused.value.render()]


@pytest.mark.spark
@pytest.mark.kafka
def test_a_query_reads_and_writes_by_mutual_tls(
    spark: SparkSession, broker: EmbeddedKafka, made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = serving(made, mutual=True)
    theirs = registry.register("s-value", schema())
    settings = own(made, "jks")
    whole = config(registry.url(), settings)
    given = {"bootstrap.servers": broker.bootstrap, "ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false"}
    engine = Engine(Config.of({**whole.values, **given, "ksql.service.id": "tls_"}))
    engine.start()
    try:
        created = "CREATE STREAM s (b STRING, a BIGINT) WITH (kafka_topic='s', value_format='AVRO', partitions=1);"
        engine.execute(created)
        engine.execute("CREATE STREAM o AS SELECT * FROM s;", EARLIEST)
        asked = len(registry.asked)
        send(engine, theirs, schema(), {"a": 1})
        assert results(engine, 1) == [(None, 1)]
        assert until(lambda: f"GET /schemas/ids/{theirs}" in registry.asked[asked:])
        query = engine.catalog.sources["O"].query
        shown = [str(engine.execute(f"EXPLAIN {query};")), json.dumps(properties("", engine.config, {}))]
    finally:
        engine.stop()
    registry.stop()
    shown += [f.read_bytes().decode(errors="replace") for f in tmp_path.rglob("*") if f.is_file()]
    secrets = (STORE, KEY_PASSWORD, made.text("client.key").splitlines()[5])
    assert not [s for s in secrets for text in [*shown, caplog.text] if s in text]
    assert f'"{PREFIX}ssl.truststore.location"' in shown[1]
