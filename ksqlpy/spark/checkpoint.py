"""A query's checkpoint: Spark's own folder, and beside it what the engine has to know when the query starts again.

    <folder>/spark          Spark's: offsets, commits, state
    <folder>/made.json      the mark that the command log has of this query
    <folder>/plan.json      which plan wrote it, and the number of partitions of its shuffles
    <folder>/backlog        of earlier versions: the first batch is the backlog, in event-time order
    <folder>/last.json      up to which offsets the last batch of a replaced plan takes records
    <folder>/era.json       how often the state has started over, and from which offsets it did so the last time
    <folder>/keys/<name>    a secret key with which the query signs its results; all that are there are good
    <folder>/unsigned.json  below which offsets of the sink topics its results need no signature
    <folder>/notes.json     which folder of notes is valid, that of the start that was the last one
    <folder>/sink/<start>/<batch>
                            end offsets of the sink topics, noted before any result of a later batch was written

The folder may lie on any file system that Hadoop knows: all access is by Hadoop's own classes. A file of ours is
written as a whole or not at all, and ends with a line that holds the CRC-32 of its first one. Hadoop keeps checksums of
the files of offsets and commits (``jvm/state/LocalFiles.java``); those of states hold their own.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import uuid
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.gateway import jvm_of, scala_session
from ksqlpy.spark.once import Offsets
from ksqlpy.spark.topics import Topics, recreated, widened

__all__ = ["MADE", "PLAN", "Checkpoint", "damage"]

KEPT_NOTES = 4
MADE, PLAN, ERA, LAST, NOTES = "made.json", "plan.json", "era.json", "last.json", "notes.json"
KEYS, UNSIGNED = "keys", "unsigned.json"


class Checkpoint:
    """One checkpoint. All methods raise EngineProblem ``checkpoint-unusable`` if its place cannot be used."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self.folder = folder
        self.spark = f"{folder}/spark"
        self._session = session
        self._jvm: Any = jvm_of(session)
        self._notes: str | None = None

    @functools.cached_property
    def _configuration(self) -> Any:
        return scala_session(self._session).sessionState().newHadoopConf()

    # ------------------------------------------------------------ Spark's part

    @property
    def last_commit(self) -> int | None:
        """The last batch that was committed, or None before the first."""
        return max(self._numbers("spark/commits"), default=None)

    @property
    def committed_at(self) -> int | None:
        """When the last batch was committed, in ms since 1970."""
        last = self.last_commit
        if last is None:
            return None
        with self._files(f"spark/commits/{last}") as (files, path):
            at: int = files.getFileStatus(path).getModificationTime()
            return at

    def offsets(self, batch: int) -> Offsets:
        """The offsets up to which this batch had read, by topic and partition."""
        lines = (self.text(f"spark/offsets/{batch}") or "").splitlines()
        found: dict[str, dict[str, int]] = json.loads(lines[-1]) if len(lines) > 2 else {}
        return found

    def mend(self) -> list[str]:
        """Goes back to the last batch whose commit and offsets are whole; gives the names of the files that it removed.

        A full disk or a crash of the machine leaves files torn. Batches after that are done again; results that are
        there already are left out. A batch that is planned but not committed is planned again: an engine that has lost
        the service may have planned it, with other records than this one, which brings its results back to their place
        by what they had seen. Raises EngineProblem
        ``checkpoint-damaged``, and removes nothing, where no batch is left to go on from.
        """
        commits, offsets = self._numbers("spark/commits"), self._numbers("spark/offsets")
        good = next(
            (n for n in sorted(set(commits) & set(offsets), reverse=True) if self._is_whole(f"spark/commits/{n}")
             and self._is_whole(f"spark/offsets/{n}")), -1,
        )  # fmt: skip
        # After the first batch the state is part of what was done; before it there is nothing to lose.
        if good < 0 and max([*commits, *(n - 1 for n in offsets), self.noted or 0]) > 0:
            raise _damaged(self.folder, "no batch of it has both its offsets and its commit")
        gone = [f"spark/commits/{n}" for n in sorted(commits, reverse=True) if n > good]  # first: they need offsets
        gone += [
            f"spark/offsets/{n}" for n in sorted(offsets, reverse=True)
            if n > good + 1 or (n > good and not self._is_whole(f"spark/offsets/{n}"))
        ]  # fmt: skip
        for name in gone:
            self._delete(name)
        if good >= 0 and good + 1 in offsets:
            self._delete(f"spark/offsets/{good + 1}")
        return gone

    def _is_whole(self, name: str) -> bool:
        """Whether a file of Spark's logs, a version and lines of JSON, is all there, and as it was written."""
        try:
            lines = (self.text(name) or "").splitlines()
        except _WrongChecksum:
            return False
        if len(lines) < 2 or not lines[0].startswith("v"):
            return False
        try:
            json.loads(lines[-1])
        except ValueError:
            return lines[-1] == "-"  # a source without an offset
        return True

    def clear(self) -> None:
        """Removes Spark's part."""
        self._delete("spark")
        self._delete("backlog")

    def remove(self) -> None:
        """Removes all."""
        self._delete("")

    # ------------------------------------------------------------ the engine's part

    def make(self, mark: str) -> None:
        """Makes the folder, with the mark of the query that it will be of."""
        self._write(MADE, {"mark": mark})

    def check_made(self, mark: str) -> None:
        """Makes sure that this is the checkpoint that was made with this mark.

        Raises EngineProblem ``checkpoint-missing``: the query would start over, silently; or ``checkpoint-foreign``.
        """
        found = self._read(MADE)
        if found is None:
            what = "has lost its file made.json" if self.names() else "is gone"
            raise EngineProblem(
                "checkpoint-missing",
                f"the checkpoint {self.folder} {what}: without it the query would start over",
                hint="is ksqlpy.checkpoint.dir right, and is its file system there? If it is lost, drop the query and"
                " recreate it",
            )
        if found != {"mark": mark}:
            raise EngineProblem(
                "checkpoint-foreign",
                f"the checkpoint {self.folder} is of another query, which had the same id",
                hint="bring back the right one, or drop the query and recreate it",
            )

    def claim(self, plan: str, shuffle_partitions: int, topics: Topics, earlier: Iterable[str] = ()) -> bool:
        """Makes sure that this plan may go on from here, over these topics; gives whether none has begun.

        Then it has to :meth:`sign` ahead of its first result, and no result of it is without a tag. ``earlier``: plans
        that this one has replaced and whose state it takes over; it signs in their place.

        Raises EngineProblem ``checkpoint-mismatch`` when another plan, or one with other shuffles, has written it:
        Spark would mistake its state; ``topic-recreated`` when its offsets belong to topics that are gone;
        ``checkpoint-damaged`` when it is not known which plan has.
        """
        mine = {"plan": plan, "shufflePartitions": shuffle_partitions}
        found = self._read(PLAN)
        if found is None:
            if set(self.names()) & {"spark", "backlog"} or (self.noted or -1) >= 0:
                raise _damaged(self.folder, f"it has lost its file {PLAN}, which says which plan wrote it")
            if self.names(KEYS):  # not with at_least_once, which may change to exactly_once
                self.unsigned_until({})
            return True
        ids, written = found.pop("topics", {}), found.pop("written", {})
        for topic, known in ids.items():
            if topics.ids.get(topic, known) != known:
                raise recreated(topic, written=topic in topics.written)
        if found.get("plan") in earlier and found.get("shufflePartitions") == shuffle_partitions:
            self.sign(plan, shuffle_partitions, topics)
            return False
        if found != mine:
            what = (
                "another plan" if found.get("plan") != plan else f"{found.get('shufflePartitions')} shuffle partitions"
            )
            raise EngineProblem(
                "checkpoint-mismatch",
                f"the checkpoint {self.folder} was written with {what}",
                hint="drop the query and recreate it, or go back to the version of ksqlpy that wrote it",
            )
        if set(topics.written) - set(written):  # versions up to 0.1 did not note it
            self.sign(plan, shuffle_partitions, topics)
        return False

    def sign(self, plan: str, shuffle_partitions: int, topics: Topics) -> None:
        """Notes that this plan goes on from here. The first number of partitions that was noted of a topic stays."""
        written = {**topics.written, **(self._read(PLAN) or {}).get("written", {})}
        noted = {"topics": dict(topics.ids), "written": {t: written[t] for t in topics.written}}
        self._write(PLAN, {"plan": plan, "shufflePartitions": shuffle_partitions, **noted})

    def widened(self, topics: Topics) -> list[EngineProblem]:
        """Which topics of results have more partitions than when the query began."""
        known = (self._read(PLAN) or {}).get("written", {})
        now = topics.written.items()
        return [widened(t, known[t], n, written=True) for t, n in now if n > known.get(t, n)]

    def begin_last(self, until: Offsets) -> None:
        """Notes that the next batch takes only records below these offsets, and leaves the others for later ones."""
        self._write(LAST, until)

    def end_last(self) -> None:
        """Lets the next batch begin where the last one stopped taking records, if :meth:`begin_last` has said that."""
        until, batch = self._read(LAST), self.last_commit
        if until is None:
            return
        if batch is not None:
            name = f"spark/offsets/{batch}"
            *lines, _ = (self.text(name) or "").splitlines()
            read = {
                t: {p: min(o, until.get(t, {}).get(p, o)) for p, o in ps.items()}
                for t, ps in self.offsets(batch).items()
            }
            if read != self.offsets(batch):
                self.write(name, "\n".join([*lines, json.dumps(read)]))
        self._delete(LAST)

    def position(self, first: Offsets, rewound: int) -> Offsets:
        """The offsets up to which committed batches have read; ``first`` where there is none yet.

        ``rewound``: the era that begins at ``first``; what was read before it does not count.
        """
        last = None if self.rewinds(rewound) else self.last_commit
        return first if last is None else self.offsets(last)

    def rewinds(self, rewound: int) -> bool:
        """Whether this era has not begun yet."""
        return rewound > 0 and (self._read(ERA) or {"era": 0})["era"] < rewound

    def begin_era(self, era: int, ends: Offsets | None = None) -> Offsets:
        """Goes on without the state, once for each ``era``; gives the offsets from which it did so the last time.

        Empty: from where the query began. What was written since the last batch stays known, but where the query was
        rewound: then ``ends`` is where the sink topics end, and all results are written again behind that. Whenever it
        is interrupted, it is done again from its note, which is there before anything goes.
        """
        found = self._read(ERA) or {"era": 0, "offsets": {}, "done": True}
        if found["era"] < era:
            offsets: Offsets = {}
            if ends is None:
                last = self.last_commit
                offsets = found["offsets"] if last is None else self.offsets(last)
                ends = self.ends_before(-1 if last is None else last)
            found = {"era": era, "offsets": offsets, "ends": ends, "done": False}
            self._write(ERA, found)
        if not found["done"]:
            self.clear()
            folder = self._valid_notes
            self._delete("sink")
            self._write(f"{folder}/-1", found["ends"])
            self._write(ERA, {**found, "done": True})
        begun: Offsets = found["offsets"]
        return begun

    @property
    def _valid_notes(self) -> str:
        """The folder of the notes that count; ``sink`` itself where versions up to 0.1 have written them."""
        found = self._read(NOTES)
        return f"sink/{found['folder']}" if found is not None else "sink"

    def begin_notes(self, last: int) -> None:
        """Begins a folder of notes with those of batches up to ``last``; only its own notes count from now on.

        Later batches were not committed, and are repeated with other offsets. Another engine, which was stopped when
        this one took over, may still note such a batch when it goes on: that note lies in a folder that does not
        count. Interrupted, this leaves the notes as they were.
        """
        valid = self._valid_notes
        name = uuid.uuid4().hex[:8]
        for number in sorted(self._numbers(valid)):
            if number <= last and (ends := self._read(f"{valid}/{number}")) is not None:
                self._write(f"sink/{name}/{number}", ends)
        self._write(NOTES, {"folder": name})
        self._notes = f"sink/{name}"
        for other in self.names("sink"):
            if other != name:
                self._delete(f"sink/{other}")

    def note(self, batch: int, ends: Offsets) -> None:
        """Notes the end offsets of the sink topics: no result of a batch after ``batch`` lies before them."""
        folder = self._notes or self._valid_notes
        self._write(f"{folder}/{batch}", ends)
        for old in sorted(self._numbers(folder))[:-KEPT_NOTES]:
            self._delete(f"{folder}/{old}")

    @property
    def noted(self) -> int | None:
        """The last batch for which there is a note."""
        return max(self._numbers(self._valid_notes), default=None)

    def ends_before(self, batch: int) -> dict[str, dict[str, int]]:
        """End offsets of the sink topics before which no result of a batch after ``batch`` lies; empty: not known."""
        found: dict[str, dict[str, int]] | None = None
        valid = self._valid_notes
        for number in sorted(self._numbers(valid), reverse=True):
            if number <= batch and found is None:
                found = self._read(f"{valid}/{number}")
        return found or {}

    def keys(self) -> dict[str, str]:
        """The keys with which results are signed, by their names; none before the first :meth:`add_key`.

        Raises EngineProblem ``checkpoint-damaged`` where one was there that is lost: its results would not be known.
        """
        names = sorted(n for n in self.names(KEYS) if not n.startswith("."))  # those are of writes that were cut off
        found = {name: self._read(f"{KEYS}/{name}") for name in names}
        if not all(found.values()) or (not found and UNSIGNED in self.names()):
            raise _damaged(self.folder, "it has lost a key with which results are signed")
        return {name: str(key["secret"]) for name, key in found.items()}

    def add_key(self, name: str, secret: str) -> None:
        """Keeps one more key."""
        self._write(f"{KEYS}/{name}", {"secret": secret})

    def unsigned_until(self, ends: Offsets) -> Offsets:
        """Below which offsets results need no signature: below ``ends`` of today, where that was not noted before."""
        found: Offsets | None = self._read(UNSIGNED)
        if found is None:
            if UNSIGNED in self.names():
                raise _damaged(self.folder, f"{UNSIGNED} is not as it was written")
            self._write(UNSIGNED, found := ends)
        return found

    # ------------------------------------------------------------ files

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}" if name else self.folder)

    @contextlib.contextmanager
    def _files(self, name: str) -> Iterator[tuple[Any, Any]]:
        try:
            path = self._path(name)
            yield path.getFileSystem(self._configuration), path
        except Py4JJavaError as e:
            if e.java_exception.getClass().getName() == _CHECKSUM:
                raise _WrongChecksum(
                    "checkpoint-damaged",
                    f"the checkpoint {self.folder} is damaged: {name} is not as it was written",
                    hint=_WAY_OUT,
                ) from e
            raise EngineProblem(
                "checkpoint-unusable",
                f"the checkpoint {self.folder} cannot be used: {reason_of(e)}",
                hint="is ksqlpy.checkpoint.dir right, and is there room?",
            ) from e
        except (Py4JError, ConnectionError) as e:
            raise EngineProblem(
                "checkpoint-unusable",
                f"the checkpoint {self.folder} cannot be used: Spark's JVM does not answer",
                hint="the server starts another one: try again soon",
            ) from e

    def names(self, folder: str = "") -> list[str]:
        """The names of what is in the folder."""
        with self._files(folder) as (files, path):
            if not files.exists(path):
                return []
            return [s.getPath().getName() for s in files.listStatus(path)]

    def _numbers(self, folder: str) -> list[int]:
        return [int(n) for n in self.names(folder) if n.removeprefix("-").isdigit()]

    def text(self, name: str) -> str | None:
        """The text of a file, None if there is none."""
        with self._files(name) as (files, path):
            if not files.exists(path):
                return None
            stream = files.open(path)
            try:
                text: str = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
            finally:
                stream.close()
            return text

    def _read(self, name: str) -> Any:
        """The JSON of a file; None where there is none, or it is not as it was written."""
        try:
            lines = (self.text(name) or "").splitlines()
            if len(lines) > 1 and lines[1] != _checksum(lines[0]):
                return None
            return json.loads(lines[0]) if lines else None
        except (ValueError, _WrongChecksum):
            return None

    def _write(self, name: str, content: Any) -> None:
        text = json.dumps(content)
        self.write(name, f"{text}\n{_checksum(text)}\n")

    def write(self, name: str, text: str) -> None:
        """Writes a file, which is there as a whole or not at all; one that is there is replaced."""
        with self._files(name) as (_, path):
            spark = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing
            manager = spark.CheckpointFileManager.create(path.getParent(), self._configuration)
            manager.mkdirs(path.getParent())
            stream = manager.createAtomic(path, True)
            try:
                stream.write(text.encode())
                stream.close()
            except BaseException:
                stream.cancel()
                raise

    def rename(self, name: str, to: str) -> None:
        """Gives a file another name."""
        with self._files(name) as (files, path):
            files.rename(path, self._path(to))

    def _delete(self, name: str) -> None:
        with self._files(name) as (files, path):
            files.delete(path, True)


_CHECKSUM = "org.apache.hadoop.fs.ChecksumException"
_WAY_OUT = "bring back a copy of the folder, or drop the query and recreate it"


class _WrongChecksum(EngineProblem):
    """A file is not as it was written."""


def _damaged(folder: str, why: str) -> EngineProblem:
    return EngineProblem("checkpoint-damaged", f"the checkpoint {folder} is damaged: {why}", hint=_WAY_OUT)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


_DAMAGE = re.compile(
    r"STREAMING_CHECKPOINT_MISSING|CANNOT_LOAD_STATE_STORE|CANNOT_READ_STREAMING_STATE|STATE_STORE_[A-Z_]*(?:CHECKSUM|INVALID|MISSING|READ)"
    r"|StateStore(?:Snapshot|Changelog|Unexpected)|RocksDBException: Corruption|ChecksumException|ZipException"
    r"|Malformed|Incomplete log file|Stream is corrupted|InvalidUnsafeRow|InvalidProtocolBuffer"
)
_LOST = re.compile(
    r"FileNotFoundException|NoSuchFile|EOFException|jackson\.(?:core|databind)|UNSUPPORTED_DATATYPE|MatchError|NumberFormat"
)
_READERS = re.compile(
    r"StreamMetadata|OffsetSeqLog|CommitLog|HDFSMetadataLog|StateSchemaCompatibility|SchemaHelper|OperatorStateMetadata"
)
"""Classes of Spark that read files of a checkpoint; they stand in the stack of an error."""


def damage(folder: str, error: Exception) -> EngineProblem | None:
    """The failure of a query as EngineProblem ``checkpoint-damaged``, if Spark cannot read this checkpoint."""
    said = f"{error}\n{getattr(error, '_stackTrace', '')}"
    if not _DAMAGE.search(said) and not (_LOST.search(said) and (folder in said or _READERS.search(said))):
        return None
    why = failure_of(error).message
    if why.startswith("SQLSTATE"):  # the last line of Spark's message
        why = str(error).strip().splitlines()[0]
    return _damaged(folder, why.rstrip("."))
