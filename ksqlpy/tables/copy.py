"""One table's copy: its store, and the thread that follows its topic."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, TopicPartition
from rocksdict import DbClosedError

from ksqlpy.analysis.result import Relation
from ksqlpy.atwork import working
from ksqlpy.catalog import KeySpec, Source
from ksqlpy.errors import EngineProblem
from ksqlpy.figures import CopyFigures
from ksqlpy.formats import JSON, Unreadable, codec, present
from ksqlpy.formats.by_name import FORMATS
from ksqlpy.formats.contract import DECLARED
from ksqlpy.formats.kafka import KAFKA
from ksqlpy.reading import Record, Rows
from ksqlpy.reading.messages import headers_of
from ksqlpy.registry import SchemaRegistry
from ksqlpy.tables.store import HEAD, Busy, Store, Torn, packed

__all__ = ["Copy"]

log = logging.getLogger(__name__)

MOST = 20_000
"""Records that are taken over at once."""

_IDLE_SECONDS = 0.5
_TOLD_SECONDS = 1.0
"""Seconds between two looks at its figures while records come."""
_ASK_SECONDS = 10.0
_TOGETHER = 0.004
_LONGEST_AWAY = 20 * 3600
"""Seconds after which a copy is recreated: tombstones are removed from a compacted topic after 24 hours."""

_UPPER = "\ud800"

_FORGET_SECONDS = 300.0
"""Seconds between two looks at whether the topic has deleted records, by its retention."""

_DISK = "is there room on the disk of ksqlpy.data.dir?"
_GONE = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}


class Copy:
    """The copy of one table; it follows the topic until it is closed.

    ``topic_id``: Kafka's id of its topic; ``consumer``: makes a consumer without a group; ``begins``: the first offsets
    of the partitions. Raises EngineProblem ``copy-failed``.
    """

    def __init__(
        self,
        source: Source,
        topic_id: str,
        folder: Path,
        consumer: Callable[[], Consumer],
        begins: Mapping[int, int],
        registry: SchemaRegistry | None = None,
        *,
        committed: bool,
    ) -> None:
        self.source = source
        self.topic_id = topic_id
        self.committed = committed
        """Whether its consumer gives committed records only."""
        self.ready = False
        """Whether it had, once, all that its topic had then."""
        self.remade: str | None = None
        """Why what was there has been copied again."""
        self.figures = CopyFigures()
        """As its thread has seen them last: who reads them waits for nobody."""
        self._folder = folder
        self._begins = dict(begins)
        self._prefixed = source.window.key_bytes if source.window is not None else 0
        self._canonical = _canonical(source)
        # Where the same key may be written in several ways, rows lie under the key as JSON.
        own = source.key if self._canonical else KeySpec(JSON.name, source.keys)
        self._codec = codec(own) if present(source.key) else None
        self._rows = Rows(Relation(source, source.name, False), set(), registry)
        self._headers = bool(source.headers)
        self._as_it_is = self._canonical and not self._headers and not source.envelope
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._problem: EngineProblem | None = None
        self._store, self._positions = self._opened()
        self._consumer = consumer
        self._thread = threading.Thread(target=self._run, name=f"copy {source.name}", daemon=True)
        self._thread.start()

    def _opened(self) -> tuple[Store, dict[int, int]]:
        """The store and where it is; one that cannot be used, or is too old, is recreated."""
        why: str | None = None
        try:
            store = Store(self._folder)
            positions, seen = store.positions(), store.seen()
            if seen is None:
                return store, dict(self._begins)
            behind = [p for p, begin in self._begins.items() if positions.get(p, 0) < begin]
            if time.time() - seen > _LONGEST_AWAY:
                why = "it was not continued for so long that the topic may have lost tombstones"
            elif behind:
                why = f"partition {behind[0]} of the topic no longer has the records that follow it"
            else:
                return store, {**self._begins, **positions}
            store.close()
        except Torn as e:
            why = f"its files cannot be used: {e}"
        except Busy as e:
            raise self._failure(str(e)) from e
        self.remade = why
        log.warning("the local copy of table %s is recreated from its topic: %s", self.source.name, why)
        Store.remove(self._folder)
        try:
            return Store(self._folder), dict(self._begins)
        except (Torn, Busy) as e:
            raise self._failure(str(e), _DISK) from e

    def _failure(self, why: str, hint: str | None = None) -> EngineProblem:
        said = f"table {self.source.name} cannot be read from the copy of topic {self.source.topic}: {why}"
        return EngineProblem("copy-failed", said, hint=hint)

    # ---------------------------------------------------------------- following

    def _run(self) -> None:
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(self.source.topic, p, o) for p, o in self._positions.items()])
            self._forget(self._begins)
            look, tell = time.monotonic() + _FORGET_SECONDS, 0.0
            while not self._stopping.is_set():
                if time.monotonic() > look:
                    look = time.monotonic() + _FORGET_SECONDS
                    self._forget(self._first(consumer))
                first = consumer.poll(_IDLE_SECONDS)
                if first is not None:
                    with working():
                        self._take([first, *consumer.consume(MOST, 0)])
                    # What comes meanwhile is taken together: a record alone costs as much as many.
                    self._stopping.wait(_TOGETHER)
                if first is None or time.monotonic() > tell:
                    tell = time.monotonic() + _TOLD_SECONDS
                    self.figures = CopyFigures(self._behind(consumer), self._store.size())
        except Torn as e:
            self._fail(str(e), _DISK)
        except KafkaException as e:
            self._fail(e.args[0].str())
        except Exception as e:
            log.exception("the copy of table %s failed", self.source.name)
            self._fail(str(e))
        finally:
            consumer.close()

    def _first(self, consumer: Consumer) -> dict[int, int]:
        """The first offsets that the partitions have now, as far as brokers say them."""
        found = {}
        with contextlib.suppress(KafkaException):  # brokers that are away; the next look may find them
            for partition in self._begins:
                place = TopicPartition(self.source.topic, partition)
                ends = consumer.get_watermark_offsets(place, timeout=_ASK_SECONDS)
                if ends is not None:
                    found[partition] = ends[0]
        return found

    def _behind(self, consumer: Consumer) -> int | None:
        """Its lag by the ends that came with the records of before; None until those of all partitions have come.

        Only the thread that polls may ask for them: a poll of another one holds the call up, and the next poll, too.
        """
        ends = {}
        with contextlib.suppress(KafkaException):  # of a partition that it has not heard of
            for partition in self._begins:
                place = TopicPartition(self.source.topic, partition)
                heard = consumer.get_watermark_offsets(place, cached=True)
                if heard is not None and heard[1] != OFFSET_INVALID:
                    ends[partition] = heard[1]
        return self.lag(ends) if ends.keys() == self._begins.keys() else None

    def _forget(self, begins: Mapping[int, int]) -> None:
        """Removes the rows whose records the topic has deleted, as windows behind its retention."""
        known = self._store.begins()
        if any(first > known.get(partition, 0) for partition, first in begins.items()):
            gone = self._store.forget({**known, **begins})
            if gone:
                log.info("table %s: %d rows are removed, as the topic has deleted them", self.source.name, gone)

    def _fail(self, why: str, hint: str | None = None) -> None:
        if not self._stopping.is_set():
            log.error("table %s is no longer copied from its topic: %s", self.source.name, why)
        with self._changed:
            self._problem = self._failure(why, hint)
            self._changed.notify_all()

    def _take(self, messages: Sequence[Message]) -> None:
        changes: list[tuple[bytes, bytes | None]] = []
        positions: dict[int, int] = {}
        head = HEAD.pack
        for m in messages:
            if m.error() is not None:
                self._note(m, positions)
                continue
            partition, offset, key, value = m.partition(), m.offset(), m.key(), m.value()
            positions[partition] = offset + 1  # type: ignore[index, operator]  # known, since there is no error
            if key is None:
                continue  # of no row
            if self._as_it_is:
                changes.append((key, None if value is None else head(m.timestamp()[1], partition, offset, 0) + value))
            elif (at := self._place(key)) is not None:
                record = self._plain(Record(key, value, m.timestamp()[1], partition, offset, self._headers_of(m)))  # type: ignore[arg-type]
                changes.append((at, None if record.value is None else packed(record, elsewhere=at != key)))
        if all(self._positions.get(p) == o for p, o in positions.items()):
            return
        self._store.write(changes, positions)
        with self._changed:
            self._positions.update(positions)
            self._changed.notify_all()

    def _note(self, message: Message, positions: dict[int, int]) -> None:
        """Takes notice of what is no record: of the end of a partition, or of a failure."""
        error, partition, offset = message.error(), message.partition(), message.offset()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF and partition is not None and offset is not None:
            positions[partition] = offset
        elif error.code() in _GONE:
            raise KafkaException(error)
        else:
            log.warning("topic %s: %s", self.source.topic, error.str())

    def _headers_of(self, message: Message) -> tuple[tuple[str, bytes | None], ...]:
        if not self._headers:
            return ()
        return headers_of(message)

    def _plain(self, record: Record) -> Record:
        """A change event that deletes a row as the tombstone that it is."""
        if not self.source.envelope or record.value is None:
            return record
        try:
            gone = self._rows.deleted(record.value)
        except Unreadable:
            return record  # its row cannot be read, which is said when it is wanted
        return record._replace(value=None) if gone else record

    def _place(self, key: bytes) -> bytes | None:
        """Under which bytes a key is kept: as JSON, where others may write the same otherwise."""
        if self._canonical:
            return key
        assert self._codec is not None
        inner, window = key, b""
        if self._prefixed:
            inner, window = key[: -self._prefixed], key[-self._prefixed :]
        try:
            written = self._codec.encode(self._rows.key(inner))
        except Unreadable:
            return None
        return None if written is None else written + window

    # ---------------------------------------------------------------- reading

    def key(self, values: Sequence[object]) -> bytes | None:
        """The bytes of a key without its window; None for null."""
        assert self._codec is not None
        return self._codec.encode(tuple(values))

    def of_key(self, key: bytes) -> Iterator[Record]:
        """The row of a key, or its rows in the order of their windows. Raises EngineProblem ``copy-failed``."""
        try:
            if self._prefixed:
                yield from self._store.beginning(key, len(key) + self._prefixed)
            elif (found := self._store.get(key)) is not None:
                yield found
        except DbClosedError as e:
            raise self._problem or self._failure(str(e)) from e

    def all(self) -> Iterator[Record]:
        """All rows, as they were at the beginning. Raises EngineProblem ``copy-failed``."""
        return self.between(None, None)

    def between(self, low: str | None, high: str | None) -> Iterator[Record]:
        """All rows, or fewer where they can be found by a range of the single key column, a STRING; both ends count.

        Which rows are in the range the caller sees: others may come, too. Raises EngineProblem ``copy-failed``.
        """
        # Texts are compared by UTF-16, bytes by UTF-8: that is the same beside a text without the upper characters.
        ordered = self.source.key.format == KAFKA.name and not self._prefixed
        first, last = (None if t is None or not ordered or max(t, default="") >= _UPPER else t for t in (low, high))
        try:
            yield from self._store.all((first or "").encode(), None if last is None else last.encode())
        except DbClosedError as e:
            raise self._problem or self._failure(str(e)) from e

    def estimate(self) -> int:
        """About how many rows it has."""
        return self._store.estimate()

    def wait(self, ends: Mapping[int, int], seconds: float) -> None:
        """Waits until it has all records up to these offsets.

        Raises EngineProblem ``copy-failed``, or ``copy-behind`` (50300) after so many seconds.
        """
        with self._changed:
            there = self._changed.wait_for(lambda: self._problem is not None or self._reached(ends), seconds)
            if self._problem is not None:
                raise self._problem
            if not there:
                left = self.lag(ends)
                raise EngineProblem(
                    "copy-behind",
                    f"the copy of table {self.source.name} is still {left:,} records behind its topic",
                    hint="ask again soon; SHOW and DESCRIBE EXTENDED show how far it is",
                    error_code=50300,
                )

    def _reached(self, ends: Mapping[int, int]) -> bool:
        return all(self._positions.get(p, 0) >= o for p, o in ends.items())

    def check(self) -> None:
        """Raises EngineProblem ``copy-failed`` if it no longer follows its topic."""
        if self._problem is not None:
            raise self._problem

    def lag(self, ends: Mapping[int, int]) -> int:
        """How many offsets it is behind these."""
        return sum(max(0, o - self._positions.get(p, 0)) for p, o in ends.items())

    @property
    def failed(self) -> bool:
        """Whether it no longer follows its topic."""
        return self._problem is not None

    def close(self, *, forget: bool = False) -> None:
        """Ends it; ``forget``: its files go too."""
        self._stopping.set()
        self._thread.join()
        if not self.failed and not forget:
            with contextlib.suppress(Torn):
                self._store.write([], {})  # it was continued until now, though nothing came perhaps
        self._fail("the table was dropped" if forget else "the server stops")
        self._store.close()
        if forget:
            Store.remove(self._folder)


def _canonical(source: Source) -> bool:
    """Whether equal keys of the topic have equal bytes: of KAFKA always, else where only our queries write."""
    if source.key.format == KAFKA.name:
        return True
    return source.query is not None and FORMATS[source.key.format].schemas is DECLARED
