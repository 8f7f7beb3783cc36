"""Confluent's serializers for Python on a real registry: what they write is read, and they read what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format, message_factory

from ksqlpy.embedded.registry import EmbeddedRegistry
from ksqlpy.formats.protofile import proto_file
from ksqlpy.runtime import Engine

if TYPE_CHECKING:
    pass

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.extended("a schema registry of others")]

AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "com.example",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "items", "type": {"type": "array", "items": "string"}},
    ],
}
JSON = {
    "title": "Order",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "note": {"type": "string"},
        "items": {"type": "array", "items": {"type": "string"}},
    },
}
PROTOBUF = """
syntax = "proto3";
package com.example;
message Unused { int32 x = 1; }
message Order { int64 id = 1; optional string note = 2; repeated string items = 3; }
"""
ORDERS = [
    {"id": 1, "note": "first", "items": ["a", "b"]},
    {"id": 9_000_000_000, "note": "é", "items": []},
    {"id": 3, "note": "", "items": ["c"]},
]


def named(name: str) -> Any:
    return message_factory.GetMessageClass(proto_file(PROTOBUF).named(name))


def of_avro(client: SchemaRegistryClient) -> tuple[Any, Any]:
    return AvroSerializer(client, json.dumps(AVRO)), AvroDeserializer(client)


def of_json(client: SchemaRegistryClient) -> tuple[Any, Any]:
    return JSONSerializer(json.dumps(JSON), client), JSONDeserializer(None, schema_registry_client=client)


def of_protobuf(client: SchemaRegistryClient) -> tuple[Any, Any]:
    order = named("com.example.Order")
    serializer = ProtobufSerializer(order, client, {"use.deprecated.format": False})

    def write(value: dict[str, Any], context: SerializationContext) -> bytes | None:
        return serializer(order(**value), context)  # type: ignore[no-any-return]  # it has no types

    # The sink's message has the columns' names in upper case.
    text = 'syntax = "proto3"; message ConnectDefault1 { int64 ID = 1; string NOTE = 2; repeated string ITEMS = 3; }'
    theirs = message_factory.GetMessageClass(proto_file(text).first())
    # Without the registry, of which it wants descriptors: Apicurio gives a schema as it was registered.
    deserializer = ProtobufDeserializer(theirs, {"use.deprecated.format": False})

    def read(data: bytes, context: SerializationContext) -> dict[str, Any]:
        found = deserializer(data, context)
        shown: dict[str, Any] = json_format.MessageToDict(
            found, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        return {**shown, "ID": int(shown["ID"])}

    return write, read


def values(engine: Engine, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(engine.connection.consumer({"group.id": "reads", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), timeout=30)
        assert messages, f"{topic} has {len(found)} of {count} records"
        found += [m.value() or b"" for m in messages]
    consumer.close()
    return found


@pytest.mark.parametrize(
    ("format_", "both"),
    [("AVRO", of_avro), ("JSON_SR", of_json), ("PROTOBUF", of_protobuf)],
    ids=["AVRO", "JSON_SR", "PROTOBUF"],
)
def test_both_ways(
    engine: Engine,
    registry: EmbeddedRegistry,
    format_: str,
    both: Callable[[SchemaRegistryClient], tuple[Any, Any]],
) -> None:
    write, read = both(SchemaRegistryClient({"url": registry.url}))
    topic = f"orders_{format_}"
    admin = AdminClient(engine.connection.admin({}))
    admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
    producer = Producer(engine.connection.producer({}))
    for order in ORDERS:
        producer.produce(topic, value=write(order, SerializationContext(topic, MessageField.VALUE)))
    assert producer.flush(30) == 0
    named_ = ", value_schema_full_name='com.example.Order'" if format_ == "PROTOBUF" else ""
    engine.execute(f"CREATE STREAM s_{format_} WITH (kafka_topic='{topic}', value_format='{format_}'{named_});")
    assert engine.catalog.sources[f"S_{format_}"].schema_text == "`ID` BIGINT, `NOTE` STRING, `ITEMS` ARRAY<STRING>"
    engine.execute(f"CREATE STREAM o_{format_} AS SELECT * FROM s_{format_};", {"auto.offset.reset": "earliest"})
    out = f"O_{format_}"
    found = [read(v, SerializationContext(out, MessageField.VALUE)) for v in values(engine, out, len(ORDERS))]
    assert found == [{name.upper(): value for name, value in order.items()} for order in ORDERS]


def test_the_registry_refuses_what_readers_cannot_read(engine: Engine, registry: EmbeddedRegistry) -> None:
    import httpx

    from ksqlpy.errors import AnalysisProblem

    engine.execute("CREATE STREAM n (a BIGINT) WITH (kafka_topic='n', value_format='JSON', partitions=1);")
    engine.execute("CREATE STREAM kept WITH (value_format='AVRO') AS SELECT a FROM n;")
    assert httpx.put(f"{registry.url}/config/KEPT-value", json={"compatibility": "BACKWARD"}).status_code == 200
    with pytest.raises(AnalysisProblem) as caught:
        engine.execute(
            "CREATE STREAM other WITH (kafka_topic='KEPT', value_format='AVRO') AS SELECT CAST(a AS STRING) AS a"
            " FROM n;"
        )
    assert caught.value.code == "incompatible-schema"
