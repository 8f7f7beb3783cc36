"""A service as its brokers have it, seen from outside: by whoever makes a backup of it or restores one."""

from __future__ import annotations

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.runtime.commandlog import CommandLog, Entry
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.clients import check_python
from ksqlpy.spark.kafka import Kafka

__all__ = ["Service"]


class Service:
    """``id``: ``ksql.service.id``; ``cluster``: Kafka's id of its cluster; ``log``: the command log."""

    def __init__(self, config: Config) -> None:
        """Raises ConfigProblem ``backup-embedded``, and EnvironmentProblem where the brokers do not answer."""
        connection = config.connection()
        if not connection.bootstrap:
            raise ConfigProblem(
                "backup-embedded",
                "no brokers are named, and those that a server starts have their records in its data folder",
                hint="name yours with bootstrap.servers; of a server with a broker of its own copy the data folder"
                " while it does not run",
            )
        check_python(connection)
        self.config = config
        self.kafka = Kafka(connection)
        self.kafka.check()
        self.id = config.get("ksql.service.id")
        self.cluster = self.kafka.cluster_id()
        self._topics = Topics(self.kafka, self.id)
        self.log = CommandLog(self.kafka, self._topics.command_log)

    def topic_id(self) -> str:
        """Kafka's id of the topic of the command log, empty if there is none."""
        return self.kafka.topic_id(self.log.topic) or ""

    def entries(self) -> list[Entry]:
        """The command log. Raises EngineProblem ``backup-no-service`` where there is none."""
        if not self.topic_id():
            raise EngineProblem(
                "backup-no-service",
                f"there is no service {self.id} on these brokers: topic {self.log.topic} does not exist",
                hint="are bootstrap.servers and ksql.service.id those of the server? --config names its file",
            )
        return self.log.read()

    @property
    def runs(self) -> bool:
        """Whether a server runs the service, or stands by for it."""
        return bool(self.kafka.members(self._topics.engine_group))
