"""A spare JVM for the driver of a cluster: when the driver dies, the next session is made in a JVM that is warm.

The spare is started with the settings of the driver, and has no Spark context. A process of its own connects to it and
runs queries over invented records in it, on one machine (``spark/spare_warmup.py``). Then it waits. If the driver dies
earlier, the warm-up is ended, and the JVM is used as warm as it is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import Any

from py4j.protocol import Py4JError

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.folders import removed
from ksqlpy.spark.gateway import launch_jvm
from ksqlpy.spark.launch import Launch

__all__ = ["Spare"]

log = logging.getLogger(__name__)

_LONGEST = 600.0
"""Seconds in which a spare has to be warm."""
_ENDING = 5.0
"""Seconds for a warm-up that is ended early: a new JVM would take about as long."""


class Spare:
    """One JVM, which starts in the background. ``launch``: what it is started with."""

    def __init__(self, launch: Launch, connection: KafkaConnection, command_log: str) -> None:
        """``command_log``: the topic that one of its queries reads."""
        self.launch = launch
        self._given = pickle.dumps((dict(launch.settings), connection, command_log))
        self._gateway: Any = None
        self._warming: subprocess.Popen[bytes] | None = None
        self._ready = self._over = False
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="spare driver", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether it cannot be taken any more: it was, or it has ended."""
        return self._over or (self._gateway is not None and self._gateway.proc.poll() is not None)

    def take(self) -> Any:
        """Its gateway, if it is ready or its warm-up can be ended; the JVM is the caller's then.

        None otherwise; then it is ended.
        """
        with self._lock:
            if self._over:
                return None
            usable, self._over = not self.over, True
            if usable and (self._ready or self._ended_early()):
                return self._gateway
            self._end()
        return None

    def close(self) -> None:
        """Ends it, if nobody has taken it."""
        with self._lock:
            if not self._over:
                self._over = True
                self._end()

    def _ended_early(self) -> bool:
        """Ends its warm-up, if that has a Spark context by now; whether the JVM can be used."""
        if self._warming is None or self._warming.poll() is not None:
            return self._warming is not None and self._warming.returncode == 0
        self._warming.kill()
        self._warming.wait()
        ended = threading.Event()
        ending = threading.Thread(target=self._end_context, args=(ended,), name="spare driver's context", daemon=True)
        ending.start()
        ending.join(_ENDING)
        log.info("the warm-up of the spare driver was ended early: %s", "used" if ended.is_set() else "not used")
        return ended.is_set()

    def _end_context(self, ended: threading.Event) -> None:
        jvm = self._gateway.jvm
        with contextlib.suppress(Py4JError, OSError):
            sessions = jvm.org.apache.spark.sql.classic.SparkSession
            found = sessions.getDefaultSession()
            if found.isEmpty() or found.get().sparkContext().isStopped():  # it is not that far, or near its end
                return
            jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
            found.get().sparkContext().stop()
            sessions.clearDefaultSession()
            sessions.clearActiveSession()
            ended.set()

    def _run(self) -> None:
        begun = time.monotonic()
        try:
            self._start()
            self._warm()
        except Exception as e:  # the next driver takes longer to start then, nothing else
            if not self._over:
                log.warning("no spare driver: %s", e)
                self.close()
            return
        with self._lock:
            self._ready = not self.over
        if self._ready:
            log.info("a spare driver is ready after %.0f s", time.monotonic() - begun)

    def _start(self) -> None:
        with self.launch.environ():
            gateway = launch_jvm(self.launch.open_settings, self.launch.secrets)
        with self._lock:
            self._gateway = gateway
            if self._over:
                self._end()

    def _warm(self) -> None:
        parameters = self._gateway.java_parameters
        with self._lock:
            if self._over:
                return
            self._warming = subprocess.Popen(
                [sys.executable, "-m", "ksqlpy.spark.spare_warmup"],
                stdin=subprocess.PIPE,
                env={
                    **os.environ,
                    "PYSPARK_GATEWAY_PORT": str(parameters.port),
                    "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
                },
            )
        self._warming.communicate(self._given, timeout=_LONGEST)
        if self._warming.returncode != 0:
            raise OSError(f"its warm-up ended with status {self._warming.returncode}")

    def _end(self) -> None:
        for process in (self._warming, self._gateway and self._gateway.proc):
            if process is None:
                continue
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        if self._gateway is not None:
            with contextlib.suppress(Py4JError, OSError):
                self._gateway.shutdown()
        removed(self.launch.work)
