"""What is asked of a schema registry, and what becomes of its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, ConfigProblem, EngineProblem
from ksqlpy.registry import SchemaRegistry
from ksqlpy.testing.registry import Registry

LOGIN = "ann:s3:cret"


@pytest.fixture
def server() -> Iterator[Registry]:
    registry = Registry(LOGIN).start()
    yield registry
    registry.stop()


def record(**fields: str) -> str:
    described = [{"name": n, "type": ["null", t], "default": None} for n, t in fields.items()]
    return json.dumps({"type": "record", "name": "R", "fields": described})


def client(server: Registry, login: str = LOGIN) -> SchemaRegistry:
    found = SchemaRegistry.of(server.url(), "USER_INFO", login)
    assert found is not None
    return found


def test_schemas_are_made_known_and_found(server: Registry) -> None:
    registry = client(server)
    assert registry.latest("t-value") is None
    assert registry.find("t-value", record(A="int")) is None
    first = registry.register("t-value", record(A="int"))
    second = registry.register("t-value", record(A="int", B="string"))
    assert registry.register("t-value", record(A="int")) == first
    assert registry.find("t-value", record(A="int")) == first
    assert registry.find("t-value", record(C="int")) is None
    latest = registry.latest("t-value")
    assert latest is not None and (latest.id, latest.kind) == (second, "AVRO")
    known = registry.schema(first)
    assert known is not None and known.text == record(A="int")
    assert registry.schema(1000) is None


def test_a_subject_of_any_name(server: Registry) -> None:
    number = client(server).register("a/b c-value", record(A="int"))
    assert server.versions("a/b c-value") == [record(A="int")]
    assert client(server).find("a/b c-value", record(A="int")) == number


def test_another_kind_of_schema(server: Registry) -> None:
    server.register("t-value", 'syntax = "proto3";', "PROTOBUF")
    latest = client(server).latest("t-value")
    assert latest is not None and latest.kind == "PROTOBUF"


def test_an_incompatible_schema_says_why(server: Registry) -> None:
    registry = client(server)
    server.compatibility["t-value"] = "BACKWARD"
    registry.register("t-value", record(A="int"))
    registry.register("t-value", record(A="int", B="int"))
    with pytest.raises(AnalysisProblem, match=r"refuses the schema for subject t-value: .* TYPE_MISMATCH: A") as caught:
        registry.register("t-value", record(A="string"))
    assert caught.value.code == "incompatible-schema"


def test_a_wrong_login(server: Registry) -> None:
    with pytest.raises(EngineProblem, match="Unauthorized") as caught:
        client(server, "ann:wrong").latest("t-value")
    assert caught.value.code == "registry-refused"
    assert "user.info" in str(caught.value.hint)


def test_the_next_address_is_asked(server: Registry) -> None:
    registry = SchemaRegistry.of(f"http://127.0.0.1:1, {server.url()}/", "USER_INFO", LOGIN)
    assert registry is not None
    assert registry.register("t-value", record(A="int")) == 1


def test_no_address_answers(server: Registry) -> None:
    server.away = True
    registry = SchemaRegistry.of(f"http://127.0.0.1:1,{server.url()}", "USER_INFO", LOGIN)
    assert registry is not None
    with pytest.raises(EngineProblem, match=r"127.0.0.1:1: .*refused; .*HTTP status 503") as caught:
        registry.latest("t-value")
    assert caught.value.code == "registry-away"


# ---------------------------------------------------------------- properties


def test_the_properties_name_it(server: Registry) -> None:
    assert Config.of({}).registry() is None
    url = server.url().replace("http://", "http://ann:s3%3Acret@")
    prefix = "ksql.schema.registry"
    by_url = Config.of({f"{prefix}.url": url, f"{prefix}.basic.auth.credentials.source": "url"}).registry()
    assert by_url is not None and by_url.latest("t-value") is None
    assert by_url.urls == (server.url(),)
    own = Config.of({f"{prefix}.url": server.url(), f"{prefix}.basic.auth.user.info": LOGIN}).registry()
    assert own is not None and own.headers == by_url.headers


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"url": "registry:8081"}, "must be addresses"),
        ({"url": "http://registry:port"}, "must be addresses"),
        ({"url": "http://ann:s3cret@registry:8081"}, "url holds a login"),
        ({"url": "http://registry", "basic.auth.user.info": "s3cret"}, "must be user:password"),
        ({"url": "http://registry", "basic.auth.credentials.source": "SASL_INHERIT"}, "must be one of"),
    ],
)
def test_properties_that_cannot_be(properties: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigProblem, match=why) as caught:
        Config.of({f"ksql.schema.registry.{n}": v for n, v in properties.items()}).registry()
    assert "s3cret" not in caught.value.render()


def test_the_login_is_not_shown() -> None:
    from ksqlpy.runtime.entities import properties

    config = Config.of({"ksql.schema.registry.basic.auth.user.info": LOGIN})
    assert LOGIN not in repr(config)
    assert LOGIN not in json.dumps(properties("SHOW PROPERTIES;", config, {}))


def test_a_bearer_token() -> None:
    server = Registry(token="t0ken").start()
    try:
        given = {"ksql.schema.registry.url": server.url(), "ksql.schema.registry.bearer.auth.token": "t0ken"}
        registry = Config.of(given).registry()
        assert registry is not None
        assert registry.register("t-value", record(A="int")) == 1
        assert registry.subjects(1) == ("t-value",)
        assert registry.subjects(2) == ()
        with pytest.raises(EngineProblem) as caught:
            SchemaRegistry([server.url()], token="other").latest("t-value")
        assert caught.value.code == "registry-refused"
    finally:
        server.stop()
    with pytest.raises(ConfigProblem, match="a login and a bearer token"):
        Config.of({**given, "ksql.schema.registry.basic.auth.user.info": LOGIN}).registry()
