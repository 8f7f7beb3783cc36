"""Apicurio's serializers for Java on a real registry, in Confluent's form: what they write is read, and the reverse."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ksqlpy.embedded.cache import locked
from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.registry import EmbeddedRegistry
from ksqlpy.formats.protofile import proto_file
from ksqlpy.runtime import Engine
from tests.interoperability.test_serializers import AVRO, JSON, ORDERS, named, values

if TYPE_CHECKING:
    pass

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.extended("a schema registry of others, and Maven"),
]

PROJECT = Path(__file__).parent / "java"
FORMATS = ("AVRO", "JSON_SR", "PROTOBUF")
_UNREACHED = ("Could not resolve", "Could not transfer", "Could not find artifact", "Unknown host")


@pytest.fixture(scope="module")
def jar() -> Path:
    """The program, recreated when it is older than its sources. Its libraries are about 60 MB of Maven Central."""
    found = PROJECT / "target" / "serializers.jar"
    sources = [PROJECT / "pom.xml", *(PROJECT / "src").rglob("*.java")]
    maven = shutil.which("mvn")
    found.parent.mkdir(exist_ok=True)
    with locked(found.parent / "lock"):
        if found.exists() and found.stat().st_mtime >= max(s.stat().st_mtime for s in sources):
            return found
        if maven is None:
            pytest.skip("mvn fetches Apicurio's serializers")
        command = [maven, "--quiet", "--batch-mode", "-Dstyle.color=never", "--strict-checksums", "package"]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300)
    if any(reason in done.stdout for reason in _UNREACHED):
        pytest.skip("Maven Central does not give Apicurio's serializers")
    assert done.returncode == 0, done.stdout
    return found


def by_java(jar: Path, tasks: list[dict[str, Any]], engine: Engine, registry: EmbeddedRegistry) -> list[Any]:
    """What the program prints when it has done the tasks."""
    own = registry.url.removesuffix("/apis/ccompat/v7") + "/apis/registry/v3"
    given = [{**task, "bootstrap": engine.connection.bootstrap, "registry": own} for task in tasks]
    command = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-jar", str(jar)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def described(message: Any) -> str:
    """The file of a message's descriptor, for the program."""
    return base64.b64encode(message.file.serialized_pb).decode()


def schema(format_: str) -> dict[str, str]:
    if format_ == "PROTOBUF":
        return {"schema": described(named("com.example.Order").DESCRIPTOR), "message": "Order"}
    return {"schema": json.dumps(AVRO if format_ == "AVRO" else JSON)}


def test_both_ways(jar: Path, engine: Engine, registry: EmbeddedRegistry) -> None:
    topics = {format_: f"java_{format_}" for format_ in FORMATS}
    admin = AdminClient(engine.connection.admin({}))
    for created in admin.create_topics([NewTopic(t, 1) for t in topics.values()]).values():
        created.result(30)
    known = {"schema": json.dumps(JSON), "schemaType": "JSON"}
    assert httpx.post(f"{registry.url}/subjects/{topics['JSON_SR']}-value/versions", json=known).is_success
    writes = [{"direction": "write", "format": f, "topic": topics[f], "values": ORDERS, **schema(f)} for f in FORMATS]
    by_java(jar, writes, engine, registry)
    for format_, topic in topics.items():
        latest = httpx.get(f"{registry.url}/subjects/{topic}-value/versions/latest").json()
        assert {v[:5] for v in values(engine, topic, len(ORDERS))} == {b"\0" + int(latest["id"]).to_bytes(4)}
        name = ", value_schema_full_name='com.example.Order'" if format_ == "PROTOBUF" else ""
        engine.execute(f"CREATE STREAM s_{format_} WITH (kafka_topic='{topic}', value_format='{format_}'{name});")
        columns = engine.catalog.sources[f"S_{format_}"].columns
        # Apicurio writes an optional field of Protobuf as a oneof, behind the others.
        assert {c.name: str(c.type) for c in columns} == {"ID": "BIGINT", "NOTE": "STRING", "ITEMS": "ARRAY<STRING>"}
        select = f"SELECT id, note, items FROM s_{format_}"
        engine.execute(f"CREATE STREAM o_{format_} AS {select};", {"auto.offset.reset": "earliest"})
    for format_ in FORMATS:
        values(engine, f"O_{format_}", len(ORDERS))
    reads = [{"direction": "read", "format": f, "topic": f"O_{f}", "count": len(ORDERS)} for f in FORMATS]
    text = httpx.get(f"{registry.url}/subjects/O_PROTOBUF-value/versions/latest").json()["schema"]
    reads[-1]["schema"] = described(proto_file(text).first())
    read = by_java(jar, reads, engine, registry)
    wanted = [{name.upper(): value for name, value in order.items()} for order in ORDERS]
    assert [{**each, "ID": int(each["ID"])} for each in read] == wanted * len(FORMATS)
