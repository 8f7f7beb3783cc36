"""The service on the Kafka brokers: its topics, its command log, its producer, and who owns it."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Producer

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, KsqlError, reason_of
from ksqlpy.logs import keep_java_settings
from ksqlpy.runtime.cluster.ownership import Ownership, identity, place_of
from ksqlpy.runtime.cluster.readiness import Readiness
from ksqlpy.runtime.commandlog import CommandLog
from ksqlpy.runtime.deadletters import DeadLetters
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.clients import check_python
from ksqlpy.spark.fencing import ProducerRegister, service_handed_over, service_taken
from ksqlpy.spark.folder_owner import FolderOwner, check_folder, sign_folder
from ksqlpy.spark.kafka import TIMEOUT, Kafka

__all__ = ["Brokers"]

log = logging.getLogger(__name__)


class Brokers:
    """The connection of an engine to its brokers, which it starts itself if none are configured.

    ``config``: the properties of the server, with the address of the brokers once it is known. ``registry``: the schema
    registry, None without one.
    """

    kafka: Kafka
    cluster_id: str
    topics: Topics
    log: CommandLog
    folder_owner: FolderOwner
    producer: Producer
    """Of INSERT VALUES."""
    dead_letters: DeadLetters

    def __init__(self, config: Config, progress: Callable[[str], None]) -> None:
        self.config = config
        self.connection = config.connection()
        self.registry = config.registry()
        self.register: ProducerRegister | None = None
        self._progress = progress
        self._cancelled = threading.Event()
        self.standing_by = threading.Event()
        """Set where another server had the service when this one started."""
        self._ownership: Ownership | None = None
        self._readiness: Readiness | None = None
        self.handed_over = False
        """Whether this engine has given the service to a standby."""
        self._embedded: EmbeddedKafka | None = None
        self._stopped = threading.Event()

    @property
    def bootstrap(self) -> str:
        """Addresses of the brokers; empty as long as our own one is not started."""
        return self.connection.bootstrap

    def prepare(self, folder: Path, stack: contextlib.ExitStack) -> None:
        """Sees to it that brokers can be had; ``stack`` ends them.

        Raises ConfigProblem, EnvironmentProblem and EngineProblem.
        """
        check_python(self.connection)
        if self.bootstrap:
            if self.connection.settings.get("security.protocol", "").upper() == "SASL_PLAINTEXT":
                log.warning("the login to Kafka goes without TLS: others may read it on its way, or the records")
            Kafka(self.connection).check()
            return
        if self.connection.secured:
            raise ConfigProblem(
                "security-setting",
                f"{min(self.connection.settings)} is set, but the server would start a broker of its own without it",
                hint="name your brokers with bootstrap.servers",
            )
        self._progress("starting Kafka")
        log_settings = folder / "kafka-log4j2.properties"
        folder.mkdir(parents=True, exist_ok=True)
        keep_java_settings(log_settings)
        self._embedded = EmbeddedKafka(
            port=self.config.number("ksqlpy.kafka.port") or None,
            folder=folder / "kafka",
            settings=_BROKER_SETTINGS,
            progress=self._progress,
            log_settings=log_settings,
        )
        stack.callback(self._embedded.stop)
        stack.callback(self._stopped.set)  # ahead of all that needs it, so that it ends last

    def connect(self, folder: Path) -> None:
        """Starts the broker if it is ours, and takes the service. Raises EngineProblem."""
        if self._embedded is not None:
            self._embedded.start()
            self.connection = self.connection.to(self._embedded.bootstrap)
            threading.Thread(target=self._watch, args=(self._embedded,), name="broker watch", daemon=True).start()
            # Who asks for the server's properties learns where its broker is.
            self.config = replace(self.config, values={**self.config.values, "bootstrap.servers": self.bootstrap})
        self.kafka = Kafka(self.connection)
        self.cluster_id = self.kafka.cluster_id()
        self.topics = Topics(self.kafka, self.config.get("ksql.service.id"))
        self.log = CommandLog(self.kafka, self.topics.command_log)
        self._belong(folder)
        self._ownership = Ownership(
            self.kafka, self.topics.engine_group, self.topics.command_log, identity(folder), place_of(folder)
        )
        self._readiness = Readiness(self.kafka, self.topics.ready_group, self.topics.command_log)
        if self._cancelled.is_set():
            self._ownership.give_up()
        self._ownership.take(self._standing_by if self.config.get("ksqlpy.standby") == "true" else None)
        self.register = ProducerRegister(self.kafka, self.topics.producers, uuid.uuid4().hex)
        self.register.take()
        self.log.guard = self.register.check

    def _watch(self, broker: EmbeddedKafka) -> None:
        """Starts the embedded broker again when it has ended, until the engine stops."""
        wait = 1.0
        while not self._stopped.wait(wait):
            if not broker.ended:
                continue
            log.error("the embedded broker has ended, see %s; it is started again", broker.log_file)
            try:
                broker.restart()
                wait = 1.0
            except Exception as e:  # a full disk is an OSError; whatever it is, the next try may find it mended
                log.error("the embedded broker is not started: %s", reason_of(e))
                wait = min(30.0, 2 * wait)

    def _standing_by(self) -> None:
        if not self.standing_by.is_set():
            self._progress("standing by: another server runs this service")
            self.standing_by.set()

    def stand_ready(self, *, ready: bool) -> None:
        """Lets the active server know whether this standby is ready to take over."""
        if self._readiness is not None:
            self._readiness.say(ready=ready)

    def hand_over(self) -> bool:
        """Gives the service to a standby that is ready; whether there is one."""
        if self._readiness is None or self._ownership is None or not self._readiness.any():
            return False
        self.handed_over = True
        self._ownership.hand_over()
        return True

    def cancel(self) -> None:
        """Ends the wait of a standby, whose start fails then."""
        self._cancelled.set()
        if self._ownership is not None:
            self._ownership.give_up()

    def _belong(self, folder: Path) -> None:
        """Makes the command log if there is none yet; before that, sees to it that the folder is of this service."""
        service = self.config.get("ksql.service.id")
        check_folder(folder, FolderOwner(self.cluster_id, service, self.kafka.topic_id(self.log.topic) or ""))
        self.log.make()
        self.folder_owner = FolderOwner(self.cluster_id, service, self.log.topic_id)
        sign_folder(folder, self.folder_owner)

    def open(self, stack: contextlib.ExitStack) -> None:
        """Starts what reads and writes for the engine itself; ``stack`` ends it."""
        self.dead_letters = DeadLetters(self.kafka, self.topics.dead_letters)
        self.dead_letters.start()
        stack.callback(self.dead_letters.stop)
        self.producer = Producer(
            self.connection.producer(
                {
                    "linger.ms": 0,
                    "acks": "all",
                    "max.in.flight": 1,  # records that are on their way together keep their order when one is retried
                    "message.max.bytes": 1_000_000_000,  # the topic's own limit counts
                    # So that what is reported as not written is not written later.
                    "message.timeout.ms": int(TIMEOUT * 1000),
                    "partitioner": "murmur2_random",  # as Kafka's Java clients do, Spark's among them
                }
            )
        )

    def release(self) -> None:
        """Gives the service free."""
        if self.register is not None:
            self.register.close()
        if self._ownership is not None:
            self._ownership.release()

    # ---------------------------------------------------------------- ownership

    @property
    def lost(self) -> bool:
        """Whether another engine runs the service."""
        return self._ownership is not None and self._ownership.lost.is_set()

    def loss(self) -> KsqlError:
        """What is reported of it."""
        return service_handed_over() if self.handed_over else service_taken()

    @property
    def doubtful(self) -> bool:
        """Whether another engine may run the service: the brokers have not confirmed ours for too long."""
        return self._ownership is not None and self._ownership.doubtful.is_set()

    def check_owner(self) -> None:
        """Raises EngineProblem ``service-taken`` where another engine may run the service."""
        if self.doubtful:
            raise service_taken()

    def problem(self) -> str | None:
        """What is wrong with the service, None if nothing is; raises KsqlError where the brokers do not answer."""
        return service_taken().message if self.doubtful else self.log.problem()

    def answer(self, seconds: float) -> bool:
        """Whether the brokers answer in this time; also before they are connected."""
        return not self.bootstrap or Kafka(self.connection).answers(seconds)


# A developer's broker keeps what it is given, and takes records of any time: data of past years is usual there. It
# makes a topic for the first record of any producer, as Kafka does unless it is told otherwise.
# With one member in a group there is nothing to wait for, and one partition is enough for its place.
_BROKER_SETTINGS = {
    "auto.create.topics.enable": "true",
    "log.retention.ms": "-1",
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}
