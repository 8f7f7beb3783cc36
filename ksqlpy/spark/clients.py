"""Kafka's clients in Spark's JVM are told how the brokers are reached, and librdkafka's are tried."""

from __future__ import annotations

import json
import logging

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import ConfigProblem, reason_of
from ksqlpy.registry import SchemaRegistry
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.session import is_local

__all__ = ["check_python", "tell_jvm", "tell_registry"]

_PY4J = logging.getLogger("py4j")


def tell_jvm(session: SparkSession, connection: KafkaConnection) -> None:
    """Lets the session's JVM know the connection, by its key; to be called in the thread that starts a query.

    The secrets go by py4j's socket once, and stand in no plan, option or command line. Raises ConfigProblem
    ``invalid-property`` where Kafka's clients in Java refuse a setting.
    """
    settings = json.dumps(connection.kinds)
    if _PY4J.getEffectiveLevel() <= logging.DEBUG:
        _PY4J.setLevel(logging.INFO)  # it would log what it sends
    jvm = jvm_of(session)
    connections = jvm.ksqlpy.clients.Connections
    problem = connections.keep(connection.key, settings)
    if problem is not None:
        raise ConfigProblem(
            "invalid-property", f"Kafka's clients in Java refuse a setting: {connection.scrubbed(str(problem))}"
        )
    if not is_local(session):  # executors get them with their tasks
        session.sparkContext.setLocalProperty(connections.PROPERTY + connection.key, settings)


def tell_registry(session: SparkSession, registry: SchemaRegistry | None) -> None:
    """Lets the session's JVM know the schema registry, as :func:`tell_jvm` does the brokers; nothing without one.

    Raises ConfigProblem ``security-setting`` where Java refuses a setting of TLS.
    """
    if registry is None:
        return
    login, tls = registry.headers.get("Authorization", ""), dict(registry.tls.java)
    settings = json.dumps({"urls": registry.urls, "login": login, "tls": tls})
    if _PY4J.getEffectiveLevel() <= logging.DEBUG:
        _PY4J.setLevel(logging.INFO)  # it would log what it sends
    jvm = jvm_of(session)
    known = jvm.ksqlpy.clients.Registry
    problem = known.keep(settings)
    if problem is not None:
        raise ConfigProblem(
            "security-setting",
            f"Java refuses a setting of ksql.schema.registry.ssl: {registry.tls.scrubbed(str(problem))}",
        )
    if not is_local(session):
        session.sparkContext.setLocalProperty(known.PROPERTY, settings)


def check_python(connection: KafkaConnection) -> None:
    """Makes one client of each kind, which connects to nobody yet.

    Raises ConfigProblem ``invalid-property`` where librdkafka refuses a setting.
    """
    if not connection.settings:
        return
    try:
        AdminClient(connection.admin({}))
        Producer(connection.producer({}))
        Consumer(connection.consumer({"group.id": "ksqlpy-check"})).close()
    except KafkaException as e:
        raise ConfigProblem(
            "invalid-property", f"Kafka's clients in Python refuse a setting: {connection.scrubbed(reason_of(e))}"
        ) from e
