"""What stands in a message of what Python, Java and Kafka's client say: one line, without a stack."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import StreamingQueryException

from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.server.errors import unforeseen
from ksqlpy.spark.failure import failure_of

JAVA = """An error occurred while calling o12.start.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 1.0 (TID 1) (host executor driver): org.apache.kafka.common.errors.\
RecordTooLargeException: The message is 1500125 bytes
\tat org.apache.kafka.clients.producer.KafkaProducer.doSend(KafkaProducer.java:1)
\tat py4j.Gateway.invoke(Gateway.java:238)
"""
TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Py4JError(JAVA), "RecordTooLargeException: The message is 1500125 bytes"),
        (Py4JError(JAVA + "Caused by: java.io.IOException: No space left on device\n\tat java.io"), None),
        (Py4JError(JAVA + "Caused by: java.lang.IllegalStateException: a\n\t... 3 more\nCaused by: b"), "b"),
        (StreamingQueryException("Query q [id = 1] terminated with exception: it is late"), "it is late"),
        (Py4JNetworkError(), "Spark does not answer"),
        (TOO_LARGE, "Broker: Message size too large"),
        (KafkaException(TOO_LARGE), "Broker: Message size too large"),
        (KeyError("op"), "KeyError: 'op'"),
        (RuntimeError("first\nsecond"), "RuntimeError: first"),
        (RecursionError(), "RecursionError"),
        (FileNotFoundError(2, "No such file or directory", "/x"), "No such file or directory: /x"),
        (EngineProblem("x", "it fails", hint="do"), "it fails (hint: do)"),
        (ValueError("x" * 9000), "ValueError: xxx"),
    ],
)
def test_reason_is_one_line(error: object, reason: str | None) -> None:
    found = reason_of(error)
    assert found.startswith(reason if reason is not None else "IOException: No space left on device")
    assert len(found) < 600
    assert not any(word in found for word in ("\n", "\tat", "py4j", "KafkaError{", "o12"))


def test_a_record_that_is_too_large_is_a_matter_of_the_user() -> None:
    failure = failure_of(Py4JError(JAVA))
    assert failure.kind == "USER"


def test_too_many_open_files_says_what_helps() -> None:
    failure = failure_of(
        Py4JError("org.apache.spark.SparkException: lost\nCaused by: java.io.IOException: Too many open files")
    )
    assert failure.kind == "SYSTEM"
    assert failure.message.startswith("IOException: Too many open files (hint: raise ulimit -n ")
    assert "ksql.query.parallelism" in failure.message


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "x")]
)
def test_spark_that_is_gone_is_said(error: Exception) -> None:
    said = unforeseen(error)
    assert (said.error_code, said.message) == (50300, "Spark does not answer")
