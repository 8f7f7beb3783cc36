"""Facts about topics, by Kafka's admin client: partitions, first and end offsets; topics made and deleted.

Lies left of the engine since a running query asks for its backlog.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._group import MemberDescription
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.reading import Reader
from ksqlpy.errors import EngineProblem, EnvironmentProblem, reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Kafka", "RecordLimit", "error_code_of"]

log = logging.getLogger(__name__)

TIMEOUT = 15.0
"""Seconds that a request to the brokers may take."""
_NEVER = 3600.0
"""For requests to a group's coordinator: librdkafka 2.16 aborts the process if brokers answer one that it gave up."""

_LEADERS_CHANGE = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.OFFSET_NOT_AVAILABLE,
}
"""While a leader is elected, client and brokers may know different ones: requests for offsets are repeated."""
_LEARNING = 5.0
"""Seconds in which all brokers know a new topic. Until then a broker that is asked may know no leader of it, as of a
topic that was deleted (librdkafka: ``_NOENT``, "No leaders found")."""

_MOST_BYTES = 16_000_000
"""A sample of records is not larger, save for its last few."""

_TOGETHER = 2**17
"""Bytes of records with which brokers do not let a reader wait for more."""

_ASKING = 2.0
"""Seconds for which it is asked why brokers do not answer a connection with a login or TLS."""
_LOOK = 0.5
_HANG_UP = 4.0
"""Seconds for which brokers may be in the midst of a start when they hang up."""
_AROUND = re.compile(r"^(?:\w+://)?\S+: |\(after \d+ms in state \w+.*\)$")
"""What librdkafka says around the reason: the address, and how it came."""

_T = TypeVar("_T")

_REFUSED = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.INVALID_PARTITIONS,
    KafkaError.INVALID_CONFIG,
    KafkaError.INVALID_REQUEST,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_ALREADY_EXISTS,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._INVALID_ARG,
}
_FORBIDDEN = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


@dataclass(frozen=True)
class RecordLimit:
    """How large a record of a topic may be: ``most`` bytes of a batch that has it alone, as it is compressed.

    ``codec``: how the brokers compress it (``compression.type`` of the topic).
    """

    most: int
    codec: str


def error_code_of(error: KafkaError) -> int:
    """ksqlDB's number for what the brokers answer: a matter of the statement, of rights (40301), or of the brokers."""
    return 40001 if error.code() in _REFUSED else 40301 if error.code() in _FORBIDDEN else 50000


def _problem(code: str, what: str, error: KafkaError) -> EngineProblem:
    return EngineProblem(code, f"{what}: {reason_of(error)}", error_code=error_code_of(error))


_ENDS_IT = {"_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED"}


def _refusal(connection: KafkaConnection, seconds: float) -> str | None:
    """What brokers have against a connection, None if they answer, or say nothing within so many seconds.

    A client of its own asks: one with a callback for errors keeps them until somebody polls, and brokers may be away
    for long.
    """
    errors: list[KafkaError] = []
    admin = AdminClient(connection.admin({"error_cb": errors.append, "socket.timeout.ms": 10_000}))
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        try:
            admin.list_topics(timeout=_LOOK)
            return None
        except KafkaException:
            admin.poll(0)
        for error in errors:
            if error.name() in _ENDS_IT or "SSL routines" in error.str():
                said = connection.scrubbed(_AROUND.sub("", error.str()).strip())
                # librdkafka adds what it means mostly, not always.
                unexplained = "certificate verify failed" in said and "could not be verified" not in said
                return f"the broker's certificate could not be verified: {said}" if unexplained else said
        # Brokers that await TLS hang up on who does not begin with it, and the other way round.
        if errors and passed > _HANG_UP and all(e.name() == "_ALL_BROKERS_DOWN" for e in errors):
            given = connection.settings.get("security.protocol", "PLAINTEXT")
            return f"it hangs up, as if it awaited another security.protocol than {given}"
        del errors[:-10]
    return None


class Kafka:
    """The brokers that one connection reaches."""

    def __init__(self, connection: KafkaConnection) -> None:
        self.connection = connection
        self._admin = AdminClient(connection.admin({"socket.timeout.ms": 10_000}))

    def check(self) -> None:
        """Waits until the brokers answer; raises EnvironmentProblem ``broker-unavailable`` or ``broker-refused``.

        What they have against the connection, such as a wrong password, is told as soon as it is known.
        """
        refused = _refusal(self.connection, TIMEOUT)
        if refused is not None:
            raise self._refused(refused)
        try:
            self._admin.list_topics(timeout=_ASKING)
        except KafkaException as e:
            raise self._away(e) from e

    def _refused(self, why: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            "broker-refused",
            f"Kafka at {self.connection.bootstrap} refuses the connection: {why}",
            hint="check security.protocol, and the settings ssl.… and sasl.…",
            error_code=50000,
        )

    def _away(self, error: Exception) -> EnvironmentProblem:
        refused = _refusal(self.connection, _ASKING) if self.connection.secured else None
        if refused is not None:
            return self._refused(refused)
        said = reason_of(error) if isinstance(error, KafkaException) else "no answer in time"
        return EnvironmentProblem(
            "broker-unavailable",
            f"Kafka at {self.connection.bootstrap} does not answer",
            hint=f"check that it runs and that bootstrap.servers is right ({said})",
            error_code=50000,
        )

    def _answer(self, asked: Future[_T]) -> _T:
        """What the brokers answer; raises EnvironmentProblem ``broker-unavailable`` if they do not in time."""
        try:
            return asked.result(timeout=TIMEOUT)
        except TimeoutError as e:
            raise self._away(e) from e

    def write_at_epoch(
        self,
        session: SparkSession,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> str | None:
        """Writes a record with the time 0, which librdkafka takes for none; gives None, or why it was not written."""
        from ksqlpy.spark.records import write_record  # not needed without a session

        return write_record(session, self.connection, topic, key, value, 0, headers, seconds=TIMEOUT)

    def cluster_id(self) -> str:
        """The id of the cluster; raises EnvironmentProblem ``broker-unavailable``."""
        try:
            return str(self._admin.list_topics(timeout=TIMEOUT).cluster_id)
        except KafkaException as e:
            raise self._away(e) from e

    def answers(self, seconds: float) -> bool:
        """Whether brokers answer in that time."""
        try:
            self._admin.list_topics(timeout=seconds)
        except KafkaException:
            return False
        return True

    def topics(self) -> dict[str, list[int]]:
        """All topics, the replicas of each partition; raises EnvironmentProblem ``broker-unavailable``."""
        try:
            found = self._admin.list_topics(timeout=TIMEOUT).topics
        except KafkaException as e:
            raise self._away(e) from e
        return {
            name: [len(p.replicas) for _, p in sorted(meta.partitions.items())]
            for name, meta in sorted(found.items())
            if meta.error is None
        }

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """The number of partitions of the topics; those that do not exist are left out."""
        known = self.topics()
        return {t: len(known[t]) for t in topics if t in known}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids that the brokers gave to the topics; a topic that was recreated has another one.

        Topics that do not exist are left out. Raises EngineProblem ``missing-topic`` for one that may not be read.
        """
        wanted = list(topics)
        if not wanted:
            return {}
        found: dict[str, str] = {}
        for name, described in self._admin.describe_topics(TopicCollection(wanted), request_timeout=TIMEOUT).items():
            try:
                found[name] = str(self._answer(described).topic_id)
            except KafkaException as e:
                if e.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise _problem("missing-topic", f"topic {name} cannot be read", e.args[0]) from e
        return found

    def topic_id(self, topic: str) -> str | None:
        """The id of one topic, None if it does not exist; raises EnvironmentProblem ``broker-unavailable``."""
        asked = self._admin.describe_topics(TopicCollection([topic]), request_timeout=TIMEOUT)
        try:
            return str(self._answer(asked[topic]).topic_id)
        except KafkaException as e:
            if e.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise self._away(e) from e

    def topic_setting(self, topic: str, name: str) -> str | None:
        """The value of a topic's setting."""
        place = ConfigResource(ConfigResource.Type.TOPIC, topic)
        try:
            settings = self._answer(self._admin.describe_configs([place], request_timeout=TIMEOUT)[place])
        except KafkaException as e:
            raise self._away(e) from e
        return settings[name].value if name in settings else None

    def record_limits(self, topics: Iterable[str]) -> dict[str, RecordLimit | None]:
        """Of each topic how large its records may be; None where it does not exist, or its settings are not shown.

        Raises EnvironmentProblem ``broker-unavailable``.
        """
        places = {t: ConfigResource(ConfigResource.Type.TOPIC, t) for t in topics}
        asked = self._admin.describe_configs(list(places.values()), request_timeout=TIMEOUT)
        found: dict[str, RecordLimit | None] = {}
        for topic, place in places.items():
            try:
                settings = self._answer(asked[place])
            except KafkaException as e:
                if e.args[0].code() not in {*_FORBIDDEN, KafkaError.UNKNOWN_TOPIC_OR_PART}:
                    raise self._away(e) from e
                if e.args[0].code() in _FORBIDDEN:  # of a topic that is not there, others tell
                    log.warning("topic %s: it is not known how large its records may be: %s", topic, reason_of(e))
                found[topic] = None
                continue
            largest = [int(settings[n].value) for n in ("max.message.bytes", "segment.bytes")]
            found[topic] = RecordLimit(min(largest), str(settings["compression.type"].value))
        return found

    def create_topic(self, name: str, partitions: int, replicas: int | None, config: Mapping[str, str]) -> None:
        """Makes a topic and waits until it is known; raises EngineProblem ``topic-not-created``."""
        try:
            topic = NewTopic(name, partitions, -1 if replicas is None else replicas, config=dict(config))
            self._answer(self._admin.create_topics([topic], operation_timeout=TIMEOUT)[name])
        except KafkaException as e:
            raise _problem("topic-not-created", f"topic {name} cannot be made", e.args[0]) from e
        except (ValueError, OverflowError) as e:  # of the client, for a number that the protocol has no place for
            message = f"topic {name} cannot be made: {partitions} partitions, {replicas} replicas are too many"
            raise EngineProblem("topic-not-created", message, error_code=40001) from e
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            meta = self._admin.list_topics(name, timeout=TIMEOUT).topics.get(name)
            if meta is not None and meta.error is None and len(meta.partitions) == partitions:
                led = [p.leader >= 0 and p.error is None for p in meta.partitions.values()]
                if all(led) and self._have_offsets(name, partitions):
                    return
            time.sleep(0.02)
        raise EngineProblem("topic-not-created", f"topic {name} was made, but the brokers do not show it")

    def _have_offsets(self, name: str, partitions: int) -> bool:
        """Whether the leaders have begun their work: a moment after a topic is made they refuse."""
        try:
            self.offsets({name: partitions}, latest=True)
        except EnvironmentProblem:
            return False
        return True

    def delete_topics(self, names: Iterable[str]) -> None:
        """Deletes topics; those that do not exist are no error. Raises EngineProblem ``topic-not-deleted``."""
        wanted = [n for n in names if n in self.topics()]
        if not wanted:
            return
        for name, done in self._admin.delete_topics(wanted, operation_timeout=TIMEOUT).items():
            try:
                self._answer(done)
            except KafkaException as e:
                raise _problem("topic-not-deleted", f"topic {name} cannot be deleted", e.args[0]) from e

    def offsets_since(
        self, topics: Mapping[str, int], time_ms: int, *, committed: bool = False
    ) -> dict[str, dict[str, int]]:
        """Of all partitions the offset of the first record that has this time (in ms since 1970) or a later one.

        -1 where there is none. Records behind it may be older. ``committed``: see :meth:`offsets`. Raises
        EnvironmentProblem ``broker-unavailable``.
        """
        # Kafka takes -1 and -2 as the end and the beginning, and no record has a time below 0.
        return self._asked(topics, OffsetSpec.for_timestamp(max(0, time_ms)), committed)

    def offsets(self, topics: Mapping[str, int], *, latest: bool, committed: bool = False) -> dict[str, dict[str, int]]:
        """First or end offsets of all partitions of the topics (name to number of partitions).

        ``committed``: the end is the last stable offset, which is ahead of all open transactions: as far as a reader
        of that kind comes (:meth:`reader`). Raises EnvironmentProblem ``broker-unavailable``.
        """
        return self._asked(topics, OffsetSpec.latest() if latest else OffsetSpec.earliest(), committed)  # type: ignore[no-untyped-call]

    def _asked(self, topics: Mapping[str, int], spec: OffsetSpec, committed: bool) -> dict[str, dict[str, int]]:
        begin = time.monotonic()
        while True:
            try:
                return self._offsets(topics, spec, committed)
            except KafkaException as e:
                code = e.args[0].code()
                patience = TIMEOUT if code in _LEADERS_CHANGE else _LEARNING if code == KafkaError._NOENT else 0.0
                if time.monotonic() > begin + patience:
                    raise self._away(e) from e
            # The client knows other leaders than the brokers do, and would not ask again for minutes.
            self.topics()
            time.sleep(0.05)

    def _offsets(self, topics: Mapping[str, int], spec: OffsetSpec, committed: bool) -> dict[str, dict[str, int]]:
        wanted = {TopicPartition(t, p): spec for t, n in topics.items() for p in range(n)}
        found: dict[str, dict[str, int]] = {t: {} for t in topics}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers = self._admin.list_offsets(wanted, request_timeout=TIMEOUT, isolation_level=level)
        for place, answer in answers.items():
            found[place.topic][str(place.partition)] = self._answer(answer).offset
        return found

    def members(self, group: str) -> dict[str, bool]:
        """The members of a consumer group, by the identity that they gave themselves, and whether each has partitions.

        Raises EnvironmentProblem ``broker-unavailable``.
        """
        return {m.group_instance_id or m.member_id: bool(m.assignment.topic_partitions) for m in self._group(group)}

    def client_of(self, group: str, member: str) -> tuple[str, str] | None:
        """The client id and the address of the member with this identity, None if there is none.

        Raises EnvironmentProblem ``broker-unavailable``.
        """
        found = (m for m in self._group(group) if m.group_instance_id == member)
        return next(((str(m.client_id), str(m.host).lstrip("/")) for m in found), None)

    def members_of(self, group: str) -> set[str]:
        """The identities of the group's members; raises EnvironmentProblem ``broker-unavailable``."""
        return {str(m.group_instance_id) for m in self._group(group)}

    def _group(self, group: str) -> list[MemberDescription]:
        self.cluster_id()  # else such requests would pile up while brokers are away
        try:
            asked = self._admin.describe_consumer_groups([group], request_timeout=_NEVER)[group]
            return list(self._answer(asked).members)
        except KafkaException as e:
            raise self._away(e) from e

    def last_records(
        self, topic: str, partitions: int, most: int, seconds: float, *, committed: bool
    ) -> list[tuple[bytes | None, bytes | None]]:
        """Keys and values of the last records of a topic, of each partition about as many.

        ``most``: of all partitions together; what has not come within the seconds is left out. Where the last offsets
        of all partitions are no records (marks of transactions, or compacted away), the first records are taken.
        ``committed``: see :meth:`offsets`. Raises EnvironmentProblem ``broker-unavailable``, and EngineProblem
        ``missing-topic`` where reading is not allowed.
        """
        place = {topic: partitions}
        first, ends = (self.offsets(place, latest=latest, committed=committed)[topic] for latest in (False, True))
        filled = [p for p in range(partitions) if ends[str(p)] > first[str(p)]]
        each = -(-most // max(1, len(filled)))
        for begins in (
            {p: max(first[str(p)], ends[str(p)] - each) for p in filled},
            {p: first[str(p)] for p in filled},
        ):
            found = self._records(topic, begins, most, seconds, committed=committed) if filled else []
            if found:
                return found
        return []

    def _records(
        self, topic: str, begins: Mapping[int, int], most: int, seconds: float, *, committed: bool
    ) -> list[tuple[bytes | None, bytes | None]]:
        found: list[tuple[bytes | None, bytes | None]] = []
        consumer, end = self.reader(ends=True, committed=committed), time.monotonic() + seconds
        open_, size = set(begins), 0
        try:
            consumer.assign([TopicPartition(topic, p, offset) for p, offset in begins.items()])
            while open_ and len(found) < most and size < _MOST_BYTES and (left := end - time.monotonic()) > 0:
                for message in consumer.consume(most - len(found), min(left, 0.2)):
                    error = message.error()
                    if error is None:
                        key, value = message.key(), message.value()
                        found.append((key, value))
                        size += len(key or b"") + len(value or b"")
                    elif error.code() == KafkaError._PARTITION_EOF:
                        open_.discard(message.partition())
                    elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                        raise _problem("missing-topic", f"topic {topic} cannot be read", error)
        finally:
            consumer.close()
        return found

    def reader(self, *, ends: bool = False, committed: bool = False, ahead: bool = True, linger: int = 0) -> Reader:
        """A consumer without a group, for partitions that are assigned by hand.

        ``ends``: it also gives a message with the error ``_PARTITION_EOF`` at the end of each partition. The last
        offsets may be control records, which consumers never see. ``committed``: for source topics, where the property
        says so (:attr:`ksqlpy.config.Config.committed`). The service's own topics, and what it has written itself, are
        read as they are: it writes without transactions, and an open one of somebody else must not hide that.
        ``ahead``: it reads as far ahead as librdkafka does, 64 MB and more; queries of clients, of which there may be
        many that nobody reads, keep 8 MB. ``linger``: milliseconds for which brokers wait for more records.
        """
        return Reader(
            self.connection.consumer(
                {
                    "group.id": "ksqlpy-reader",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "enable.partition.eof": ends,
                    "isolation.level": "read_committed" if committed else "read_uncommitted",
                    # When it has read far ahead it looks again after so long; the default of a second is most of the
                    # time of a consumer that is faster.
                    "fetch.queue.backoff.ms": 10,
                    **({} if ahead else {"queued.max.messages.kbytes": 8_192, "fetch.message.max.bytes": 262_144}),
                    **({"fetch.wait.max.ms": linger, "fetch.min.bytes": _TOGETHER} if linger else {}),
                }
            )
        )
