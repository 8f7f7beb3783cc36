"""Producers of executors that ask to write: one that cannot be noted does not keep others from writing."""

from __future__ import annotations

import json
import threading
import time
from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem
from ksqlpy.spark.admissions import Admissions
from ksqlpy.spark.fencing import ProducerRegister


class Registrations:
    """The JVM's side: requests stay until they are answered."""

    def __init__(self, *queries: str) -> None:
        self.requests = [
            {"query": q, "life": f"{q}.1", "jvm": "executor", "producer": n} for n, q in enumerate(queries)
        ]
        self.answers: dict[str, str | None] = {}
        self.answered = threading.Event()

    def take(self, patience: int) -> str:
        time.sleep(0.01)
        return json.dumps(self.requests)

    def answer(self, jvm: str, life: str, refused: str | None) -> None:
        self.requests = [w for w in self.requests if w["life"] != life]
        self.answers[life] = refused
        self.answered.set()


class Register:
    """The register: the brokers do not take the note of one query, and another query has ended."""

    def admit(self, query: str, life: str, jvm: str, producer: int) -> str | None:
        if query == "unnoted":
            raise EngineProblem("producer-register", "the brokers do not answer")
        return "it has ended" if query == "ended" else None


def answers(*queries: str) -> dict[str, str | None]:
    """What is answered, by life, when the first answer was given."""
    registrations = Registrations(*queries)
    jvm = SimpleNamespace(ksqlpy=SimpleNamespace(cluster=SimpleNamespace(Registrations=registrations)))
    session = cast(SparkSession, SimpleNamespace(_jvm=jvm))
    admissions = Admissions(lambda: session, cast(ProducerRegister, cast(Any, Register())))
    admissions.start()
    assert registrations.answered.wait(10)
    admissions.stop()
    return registrations.answers


def test_a_producer_that_cannot_be_noted_does_not_hold_up_others() -> None:
    assert answers("unnoted", "running") == {"running.1": None}


def test_a_producer_of_a_query_that_has_ended_is_refused() -> None:
    assert answers("ended") == {"ended.1": "it has ended"}
