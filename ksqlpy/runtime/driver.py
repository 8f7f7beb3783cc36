"""Spark's driver: the life of its JVM, from the start of an engine to its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.pythonfunctions import for_jvm
from ksqlpy.spark.masters import check_cluster, check_master
from ksqlpy.spark.secret import SECRET_FILE, authenticated
from ksqlpy.spark.session import (
    end_session,
    has_session,
    hear,
    is_alive,
    jvm_alive,
    kill_jvm,
    prepare_launch,
    start_session,
)
from ksqlpy.spark.spare import Spare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Driver"]

log = logging.getLogger(__name__)

AWAY_SECONDS = 2.0
"""Brokers that do not answer for so long, twice, are away when the engine stops."""

ANSWER_SECONDS = 2.0
"""Time in which a JVM answers that works."""

SILENT_SECONDS = 20.0
"""A JVM that answers nothing for so long is killed when the engine stops, since all calls into it would wait."""


class Driver:
    """The JVM of this process's session. ``session``: of the JVM that is there; ``there``: not set while one starts."""

    session: SparkSession

    def __init__(self, brokers: Brokers, progress: Callable[[str], None]) -> None:
        self._brokers = brokers
        self._progress = progress
        self._folder: Path | None = None
        self._stopping = threading.Event()
        self._prober = ThreadPoolExecutor(1, "probe")
        self._probe: Future[bool] | None = None
        self._hearing: threading.Thread | None = None
        self.there = threading.Event()
        self.there.set()
        self.restarts = 0

    def check(self) -> None:
        """Raises ConfigProblem where the properties do not fit the Spark master."""
        config = self._brokers.config
        master = config.get("ksqlpy.spark.master")
        check_master(master)
        check_cluster(master, config.get("ksqlpy.checkpoint.dir"), self._brokers.bootstrap)
        authenticated(master, config.spark, config.get(SECRET_FILE))

    def start(self, folder: Path, stack: ExitStack) -> None:
        """Starts it in a folder; ``stack`` ends it. Raises EnvironmentProblem.

        A process has one session; who made it ends it.
        """
        shared = has_session()
        self.session = start_session(*self._launch(folder, self._progress))
        if not shared:
            self._folder = folder
            stack.callback(lambda: end_session(self.session))

    def restart(self) -> None:
        """Starts another one in place of one that has died. Raises EnvironmentProblem."""
        assert self._folder is not None
        end_session(self.session)
        self.session = start_session(*self._launch(self._folder))
        self.restarts += 1

    def spare(self) -> Spare:
        """Another JVM of the same settings."""
        assert self._folder is not None
        launch = prepare_launch(*self._launch(self._folder))
        return Spare(launch, self._brokers.connection, self._brokers.topics.command_log)

    def _launch(
        self, folder: Path, progress: Callable[[str], None] | None = None
    ) -> tuple[str, str, Path, Callable[[str], None] | None, str, Mapping[str, str]]:
        """What a JVM is started with, see :func:`ksqlpy.spark.session.start_session`."""
        config = self._brokers.config
        master, memory = config.get("ksqlpy.spark.master"), config.get("ksqlpy.spark.memory")
        conf = {
            **for_jvm(config, master),
            **authenticated(master, config.spark, config.get(SECRET_FILE)),
        }
        return master, memory, folder, progress, config.get("ksqlpy.spark.java.options"), conf

    @property
    def own(self) -> bool:
        """Whether this engine has started it, and ends it."""
        return self._folder is not None

    @property
    def exited(self) -> bool:
        """Whether its process has ended, by a look that costs nothing."""
        return self.own and not jvm_alive()

    @property
    def dead(self) -> bool:
        """Whether it is to be started again."""
        return self.own and not is_alive(self.session) and not self._stopping.is_set()

    @property
    def alive(self) -> bool:
        """Whether it answers, within :data:`ANSWER_SECONDS`: one that is stopped never does."""
        if self._probe is None or self._probe.done():
            self._probe = self._prober.submit(lambda: is_alive(self.session))
        try:
            return self._probe.result(ANSWER_SECONDS)
        except TimeoutError:
            return False

    def stopping(self, over: threading.Event) -> None:
        """To be called when the engine begins to stop: ends it when all would wait, for brokers or for itself.

        ``over``: set when it has stopped.
        """
        self._stopping.set()
        if self.own:
            threading.Thread(target=self._hurry, args=(over,), name="hurry", daemon=True).start()

    def _hurry(self, over: threading.Event) -> None:
        missed = 0
        silent_since: float | None = None
        while not over.wait(1.0):
            missed = 0 if self._brokers.kafka.answers(AWAY_SECONDS) else missed + 1
            silent_since = None if self._heard() else silent_since or time.monotonic()
            why = None
            if missed >= 2:
                why = f"Kafka at {self._brokers.bootstrap} does not answer: Spark is ended without it"
            elif silent_since is not None and time.monotonic() - silent_since >= SILENT_SECONDS:
                why = f"Spark's JVM has not answered for {SILENT_SECONDS:g} seconds: it is killed"
            if why is not None and not over.is_set():
                log.warning("%s", why)
                kill_jvm()
                return

    def _heard(self) -> bool:
        """Whether it answers within :data:`ANSWER_SECONDS`, if only that it is gone."""
        if self._hearing is None or not self._hearing.is_alive():
            self._hearing = threading.Thread(target=hear, args=(self.session,), name="hear", daemon=True)
            self._hearing.start()
        self._hearing.join(ANSWER_SECONDS)
        return not self._hearing.is_alive()

    def cut_short(self) -> bool:
        """Ends it if brokers are away, so that a start or stop can end; whether they are."""
        if self._brokers.bootstrap and self._brokers.answer(AWAY_SECONDS):
            return False
        if self.own:
            kill_jvm()
        return True
