"""What each family of clients gets, and what is refused: with the names of Java's clients and of librdkafka."""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksqlpy.config import Config, warnings_of
from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.jaas import jaas_text, read_jaas
from ksqlpy.connection.names import PYTHON_NAMES, setting_of
from ksqlpy.errors import ConfigProblem
from ksqlpy.spark.clients import check_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULES = "org.apache.kafka.common.security"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIC\n-----END PRIVATE KEY-----\n"
SECRET = "never-shown-31"
OAUTH = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
}


def scram(**more: str) -> dict[str, str]:
    return {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", **more}


def of(settings: Mapping[str, str]) -> KafkaConnection:
    return KafkaConnection.of("b:9092", settings)


def both(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """What Java's clients and librdkafka's get, without what all get."""
    connection = of(settings)
    java, python = connection.java("admin"), connection.admin({})
    assert java.pop("bootstrap.servers") == python.pop("bootstrap.servers") == "b:9092"
    assert python.pop("log_level") == 0
    assert python.pop("allow.auto.create.topics") == "false"
    for found in (java, python):
        found.pop("security.protocol", None)
        found.pop("ssl.endpoint.identification.algorithm", None)
    return java, python


# ---------------------------------------------------------------- logins


def login(module: str, options: str) -> str:
    return f"{MODULES}.{module} required {options};"


def test_name_and_password_are_the_same_in_both_forms() -> None:
    java = both(scram(**{"sasl.jaas.config": login("scram.ScramLoginModule", r'username="u" password="a\"b\\c"')}))
    assert both(scram(**{"sasl.username": "u", "sasl.password": 'a"b\\c'})) == java
    assert java == (
        {
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": login("scram.ScramLoginModule", r'username="u" password="a\"b\\c"'),
        },
        {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": 'a"b\\c'},
    )


def test_client_credentials_are_the_same_in_all_forms() -> None:
    options = 'clientId="me" clientSecret="s" scope="a b" extension_logicalCluster="x"'
    in_jaas = both({**OAUTH, "sasl.jaas.config": login("oauthbearer.OAuthBearerLoginModule", options)})
    for prefix in ("sasl.oauthbearer.client", "sasl.oauthbearer.client.credentials.client"):
        apart = {
            f"{prefix}.id": "me",
            f"{prefix}.secret": "s",
            "sasl.oauthbearer.scope": "a b",
            "sasl.oauthbearer.extensions": "logicalCluster=x",
        }
        assert both({**OAUTH, **apart}) == in_jaas
    java, python = in_jaas
    assert java["sasl.jaas.config"] == login("oauthbearer.OAuthBearerLoginModule", options)
    assert java["sasl.login.callback.handler.class"] == f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"
    assert python["sasl.oauthbearer.method"] == "oidc"
    assert python["sasl.oauthbearer.client.secret"] == "s"


@given(st.dictionaries(st.from_regex(r"[a-z][A-Za-z_]*", fullmatch=True), st.text(), min_size=1))
def test_jaas_is_read_as_it_was_written(options: dict[str, str]) -> None:
    read = read_jaas(jaas_text("a.B", options))
    assert (read.module, read.options) == ("a.B", options)


def test_jaas_over_several_lines_and_with_bare_words_is_read() -> None:
    read = read_jaas("a.B required\n  username=\"u\"\n  password='p \\u' debug=true ;")
    assert read.options == {"username": "u", "password": "p u", "debug": "true"}


# ---------------------------------------------------------------- certificates


def test_pem_files_stay_files_and_pem_texts_get_their_lines_back(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    (tmp_path / "both.pem").write_text(KEY + CERTIFICATE)
    ca, store = str(tmp_path / "ca.pem"), str(tmp_path / "both.pem")
    ssl = {"security.protocol": "SSL"}
    java, python = both({**ssl, "ssl.truststore.location": ca, "ssl.keystore.location": store, "ssl.key.password": "p"})
    assert java == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": ca,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": store,
        "ssl.key.password": "p",
    }
    assert python == {
        "ssl.ca.location": ca,
        "ssl.key.location": store,
        "ssl.certificate.location": store,
        "ssl.key.password": "p",
    }
    java, python = both(
        {
            **ssl,
            "ssl.ca.pem": CERTIFICATE.replace("\n", " "),
            "ssl.key.pem": KEY.replace("\n", "\\n"),
            "ssl.certificate.location": ca,
        }
    )
    assert java["ssl.truststore.certificates"] == python["ssl.ca.pem"] == CERTIFICATE
    assert java["ssl.keystore.key"] == python["ssl.key.pem"] == KEY
    assert java["ssl.keystore.certificate.chain"] == python["ssl.certificate.pem"] == CERTIFICATE


def test_names_of_hosts_are_checked_unless_it_is_said_otherwise() -> None:
    name = "ssl.endpoint.identification.algorithm"
    for chosen, java, python in ((None, "https", "https"), ("HTTPS", "https", "https"), ("", "", "none")):
        connection = of(SSL if chosen is None else {**SSL, name: chosen})
        assert connection.java("admin")[name] == java
        assert connection.admin({})[name] == python


# ---------------------------------------------------------------- refused


def files(folder: Path) -> dict[str, str]:
    contents = {
        "pkcs1": b"-----BEGIN RSA PRIVATE KEY-----\nMIIC\n-----END RSA PRIVATE KEY-----\n" + CERTIFICATE.encode(),
        "jks": b"\xfe\xed\xfe\xed\0\0\0\2",
        "der": b"\x30\x82\0\0",
        "text": b"hello",
        "ca": CERTIFICATE.encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in contents}


SSL = {"security.protocol": "SSL"}
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "protocol": ({"security.protocol": "TLS"}, "must be one of PLAINTEXT, SSL"),
    "tls without tls": ({"ssl.truststore.password": SECRET}, "security.protocol is PLAINTEXT: there would be no TLS"),
    "login without login": ({**SSL, "sasl.password": SECRET}, "security.protocol is SSL: there would be no login"),
    "kerberos": ({"security.protocol": "SASL_SSL"}, "sasl.mechanism: 'GSSAPI' must be one of PLAIN"),
    "no password": (scram(**{"sasl.username": "u"}), "the password for SCRAM-SHA-256 is missing"),
    "two logins": (scram(**{"sasl.jaas.config": login("scram.ScramLoginModule", "a=b"), "sasl.password": SECRET}),
                   "say the same in two ways"),
    "other module": (scram(**{"sasl.jaas.config": login("plain.PlainLoginModule", f'password="{SECRET}"')}),
                     "another login module than that of SCRAM-SHA-256"),
    "no jaas": (scram(**{"sasl.jaas.config": f"password={SECRET}"}), "is not one login module"),
    "delegation token": (
        scram(**{"sasl.jaas.config": login("scram.ScramLoginModule", f'password="{SECRET}" tokenauth="true"')}),
        "nothing like the option tokenauth"),
    "no endpoint": ({**OAUTH, "sasl.oauthbearer.token.endpoint.url": f"file:{SECRET}"}, "http or https URL"),
    "no client": ({**OAUTH, "sasl.oauthbearer.client.secret": SECRET}, "id or secret for OAUTHBEARER is missing"),
    "handler": ({**OAUTH, "sasl.login.callback.handler.class": "my.Handler"}, "must be org.apache.kafka"),
    "ciphers": ({**SSL, "ssl.cipher.suites": "A"}, "Java's clients and librdkafka do not both have it, or not alike"),
    "some clients": ({"kafka.consumer.ssl.key.password": SECRET}, "cannot be set for some clients only"),
    "no file": ({**SSL, "ssl.ca.location": "/nowhere/ca.pem"}, "cannot be read: no such file"),
    "no pem": ({**SSL, "ssl.ca.location": "{text}"}, "neither PEM nor PKCS#12 nor JKS"),
    "jks authority": ({**SSL, "ssl.ca.location": "{jks}"}, "is JKS"),
    "jks key": ({**SSL, "ssl.keystore.location": "{jks}", "ssl.keystore.password": SECRET}, "librdkafka does not read"),
    "other type": ({**SSL, "ssl.keystore.location": "{jks}", "ssl.keystore.type": "PEM"}, "but the file"),
    "pkcs1": ({**SSL, "ssl.keystore.location": "{pkcs1}"}, "RSA PRIVATE KEY, which Java's clients do not read"),
    "key alone": ({**SSL, "ssl.key.pem": KEY}, "a certificate is missing"),
    "no key": ({**SSL, "ssl.keystore.location": "{ca}"}, "holds no PRIVATE KEY"),
    "two passwords": (
        {**SSL, "ssl.keystore.location": "{der}", "ssl.keystore.password": SECRET, "ssl.key.password": SECRET + "2"},
        "one password"),
    "two authorities": ({**SSL, "ssl.ca.location": "{ca}", "ssl.ca.pem": CERTIFICATE}, "say the same in two ways"),
    "host names": ({**SSL, "ssl.endpoint.identification.algorithm": "ldaps"}, "must be https"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_the_start_with_the_reason_and_without_secrets(case: str, tmp_path: Path) -> None:
    settings, reason = REFUSED[case]
    places = files(tmp_path)
    settings = {n: places.get(v.strip("{}"), v) if v.startswith("{") else v for n, v in settings.items()}
    with pytest.raises(ConfigProblem) as refused:
        Config.of(settings).connection()
    assert reason in refused.value.message
    assert refused.value.code in ("security-setting", "invalid-property")
    assert SECRET not in refused.value.render()


@pytest.mark.java
def test_a_truststore_with_another_password_is_refused(tmp_path: Path) -> None:
    if shutil.which("keytool") is None:
        pytest.skip("keytool makes the file")
    store = str(tmp_path / "store.jks")
    pair = ["-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=a", "-storetype", "JKS", "-keystore", store]
    subprocess.run(["keytool", *pair, "-storepass", "secret", "-keypass", "secret"], check=True, capture_output=True)
    settings = {**SSL, "ssl.truststore.location": store, "ssl.truststore.password": SECRET}
    with pytest.raises(ConfigProblem, match="cannot be read") as refused:
        of(settings)
    assert SECRET not in refused.value.render()
    java, python = both({**settings, "ssl.truststore.password": "secret"})
    assert java["ssl.truststore.type"] == "JKS"
    assert python["ssl.ca.pem"].startswith("-----BEGIN CERTIFICATE-----\n")


# ---------------------------------------------------------------- settings that are passed through


def test_settings_go_to_the_clients_that_they_are_for() -> None:
    settings = Config.of(
        {
            "kafka.request.timeout.ms": "1",
            "ksql.streams.reconnect.backoff.ms": 7,
            "kafka.consumer.fetch.max.wait.ms": "2",
            "kafka.consumer.request.timeout.ms": "3",
            "ksql.streams.producer.compression.type": "lz4",
            "producer.max.block.ms": "9223372036854775807",
            "ksql.streams.producer.acks": "all",
            "kafka.consumer.enable.auto.commit": "false",
        }
    )
    connection = settings.connection()
    assert connection.java("consumer") == {
        "bootstrap.servers": "",
        "request.timeout.ms": "3",
        "reconnect.backoff.ms": "7",
        "fetch.max.wait.ms": "2",
        "allow.auto.create.topics": "false",
    }
    assert connection.java("producer")["compression.type"] == "lz4"
    assert connection.java("producer")["max.block.ms"] == "9223372036854775807"
    assert "acks" not in connection.java("producer")
    own = {"socket.timeout.ms": 10_000}
    assert connection.admin(own)["socket.timeout.ms"] == 10_000
    assert connection.consumer({})["socket.timeout.ms"] == "3"
    assert connection.consumer({})["fetch.wait.max.ms"] == "2"
    assert "max.block.ms" not in connection.producer({})
    assert connection.spark_sink["kafka.compression.type"] == "lz4"
    assert "kafka.enable.auto.commit" not in connection.spark_source


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("kafka.producer.acks", "1", "reserved-setting"),
        ("ksql.streams.producer.enable.idempotence", "false", "reserved-setting"),
        ("kafka.producer.max.in.flight.requests.per.connection", "5", "reserved-setting"),
        ("kafka.consumer.isolation.level", "read_committed", "reserved-setting"),
        ("kafka.interceptor.classes", "my.Interceptor", "reserved-setting"),
        ("kafka.consumer.group.id", "g", "reserved-setting"),
        ("kafka.bootstrap.servers", "b:1", "reserved-setting"),
        ("kafka.producer.value.serializer", "S", "reserved-setting"),
        ("kafka.consumer.fetch.min.byte", "1", "unknown-property"),
        ("kafka.consumer.linger.ms", "1", "unknown-property"),
        ("kafka.request.timeout.ms", "soon", "invalid-property"),
    ],
)
def test_what_may_not_be_set_is_refused(name: str, value: str, code: str) -> None:
    with pytest.raises(ConfigProblem) as refused:
        Config.of({name: value})
    assert refused.value.code == code


@pytest.mark.spark
def test_no_log_of_what_goes_to_the_jvm_holds_a_secret(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    from ksqlpy.spark.clients import tell_jvm

    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "py4j"):
        tell_jvm(spark, of(scram(**{"sasl.username": "u", "sasl.password": SECRET})))
    assert SECRET not in caplog.text


def test_librdkafka_is_asked_at_the_start() -> None:
    check_python(of({"kafka.retry.backoff.ms": "100", "kafka.producer.linger.ms": "5"}))
    with pytest.raises(ConfigProblem, match="Kafka's clients in Python refuse a setting"):
        check_python(of({"kafka.consumer.fetch.min.bytes": "-1"}))


@pytest.mark.spark
def test_java_is_asked_at_the_start(spark: SparkSession) -> None:
    from ksqlpy.spark.clients import tell_jvm

    with pytest.raises(ConfigProblem, match="Kafka's clients in Java refuse a setting"):
        tell_jvm(spark, of({"kafka.producer.compression.zstd.level": "99"}))


@pytest.mark.spark
def test_java_knows_all_names(spark: SparkSession) -> None:
    clients: Any = spark._jvm.org.apache.kafka.clients  # type: ignore[union-attr]
    kinds = {
        "consumer": clients.consumer.ConsumerConfig,
        "producer": clients.producer.ProducerConfig,
        "admin": clients.admin.AdminClientConfig,
    }
    for kind, settings in kinds.items():
        known = settings.configNames()
        assert not [name for name in PYTHON_NAMES[kind] if not known.contains(name)]


def test_librdkafka_knows_all_names() -> None:
    words = {
        "client.dns.lookup": "use_all_dns_ips",
        "metadata.recovery.strategy": "none",
        "check.crcs": "true",
        "client.rack": "r",
        "compression.type": "lz4",
    }
    numbers = {"max.request.size": "100000", "max.partition.fetch.bytes": "100000"}
    for kind, names in PYTHON_NAMES.items():
        settings = {}
        for name, its in names.items():
            if its is not None:
                settings[f"kafka.{kind}.{name}"] = words.get(name) or numbers.get(name, "1000")
        check_python(of(settings))


# ---------------------------------------------------------------- where they come from, and where they are not shown


def test_statements_change_none_of_them() -> None:
    config = Config.of({"kafka.request.timeout.ms": "1"})
    for name in ("sasl.password", "kafka.request.timeout.ms", "ksql.streams.ssl.key.password"):
        with pytest.raises(ConfigProblem, match="cannot be changed by a statement"):
            config.for_statement({name: "1"})
    idle = "ksql.streams.producer.linger.ms"
    assert config.for_statement({idle: "1"}) == config
    assert warnings_of([idle]) == [
        f"property {idle} is taken when the server starts; a statement changes nothing by it"
    ]


def test_a_file_may_go_on_in_the_next_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        '# not \\\nsasl.jaas.config=a.B required \\\n    username="u\\\\" \\\n  password="p";\nx=C:\\\\\ny=1\\\n'
    )
    assert Config.from_file(file) == {
        "sasl.jaas.config": 'a.B required username="u\\\\" password="p";',
        "x": "C:\\\\",
        "y": "1",
    }


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSQLPY_SASL_PASSWORD", "p")
    monkeypatch.setenv("KSQLPY_KAFKA_PRODUCER_LINGER_MS", "5")
    found = Config.from_environment()
    assert found["sasl.password"] == "p"
    assert found["kafka.producer.linger.ms"] == "5"


def test_nothing_shows_a_secret() -> None:
    settings = scram(**{"sasl.username": "u", "sasl.password": SECRET})
    config = Config.of(settings)
    connection = config.connection()
    options = {**connection.spark_source, **connection.spark_sink}
    assert options["kafka.sasl.jaas.config"] == f"${{ksqlpy:{connection.key}:sasl.jaas.config}}"
    assert connection.shown["sasl.password"] == "[hidden]"
    assert connection.scrubbed(f"said: {SECRET}!") == "said: [hidden]!"
    assert SECRET not in f"{config!r}{connection!r}{options}{connection.shown}"


def test_names_of_other_properties_are_not_taken_for_settings() -> None:
    for name in (
        "ksql.service.id",
        "auto.offset.reset",
        "ksql.streams.state.dir",
        "producer.confluent.batch.expiry.ms",
    ):
        assert setting_of(name) is None, name
