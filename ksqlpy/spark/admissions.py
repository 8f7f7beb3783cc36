"""Producers of executors ask to write; the engine notes them in its register (``jvm/sink/Writers.java`` asks)."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.errors import KsqlError
from ksqlpy.spark.fencing import ProducerRegister
from ksqlpy.spark.gateway import jvm_of

__all__ = ["Admissions"]

log = logging.getLogger(__name__)

_PATIENCE = 1000
"""Ms for which the JVM waits for a producer that asks."""

_PAUSE = 0.5
"""Seconds until producers that could not be noted are tried again."""


class Admissions:
    """Answers in a thread of its own, until :meth:`stop`.

    ``session``: gives the session, which is another one after the JVM was killed.
    """

    def __init__(self, session: Callable[[], SparkSession], register: ProducerRegister) -> None:
        self._session, self._register = session, register
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="admissions", daemon=True)

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Ends, within some seconds."""
        self._ended.set()
        self._thread.join(timeout=_PATIENCE / 1000 + 2)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                jvm = jvm_of(self._session())
                registrations = jvm.ksqlpy.cluster.Registrations
                requests = json.loads(registrations.take(_PATIENCE))
                if not all([self._answer(registrations, request) for request in requests]):
                    self._ended.wait(_PAUSE)
            except (Py4JError, OSError, TypeError, AttributeError) as e:  # the JVM is gone, or not there yet
                log.debug("no producers of executors are admitted: %s", e)
                self._ended.wait(_PAUSE)
            except Exception as e:  # without this thread no executor could write any more
                log.warning("producers of executors have to wait: %r", e)
                self._ended.wait(_PAUSE)

    def _answer(self, registrations: Any, request: Mapping[str, Any]) -> bool:
        """Admits a producer or refuses it; whether it has an answer. One that has none asks again."""
        query, life, jvm = str(request["query"]), str(request["life"]), str(request["jvm"])
        try:
            refused = self._register.admit(query, life, jvm, int(request["producer"]))
        except KsqlError as e:  # the brokers may be away
            log.warning("query %s: a producer of %s has to wait: %s", query, jvm, e)
            return False
        registrations.answer(jvm, life, refused)
        if refused is not None:
            log.info("query %s: a producer of %s may not write: %s", query, jvm, refused)
        return True
