"""A query's checkpoint: Spark's own folder, and beside it what the engine has to know when the query starts again.

    <folder>/spark          Spark's: offsets, commits, state
    <folder>/plan.json      which plan wrote it, and the number of partitions of its shuffles
    <folder>/backlog        the first batch is the backlog, in event-time order
    <folder>/sink/<batch>   end offsets of the sink topics, noted before any result of a later batch was written

The folder may lie on any file system that Hadoop knows: all access is by Hadoop's own classes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem
from ksqlpy.spark.once import Offsets

__all__ = ["Checkpoint", "remove_stale"]

KEPT_NOTES = 4


class Checkpoint:
    """One checkpoint. All methods raise EngineProblem ``checkpoint-unusable`` if its place cannot be used."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self.folder = folder
        self.spark = f"{folder}/spark"
        self._jvm: Any = session._jvm
        self._configuration = session._jsparkSession.sessionState().newHadoopConf()

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

    @property
    def backlog_planned(self) -> bool:
        """Whether the batch with the backlog has been planned: its offsets are fixed."""
        return "backlog" in self.names() and bool(self._numbers("spark/offsets"))

    def offsets(self, batch: int) -> Offsets:
        """The offsets up to which this batch had read, by topic and partition."""
        lines = (self._text(f"spark/offsets/{batch}") or "").splitlines()
        found: dict[str, dict[str, int]] = json.loads(lines[-1]) if len(lines) > 2 else {}
        return found

    def mend(self) -> str | None:
        """Removes the newest offsets or commit if its file is torn, as a full disk leaves it; gives its name.

        Its batch is done again then; results that are there already are left out.
        """
        for folder in ("spark/offsets", "spark/commits"):
            newest = max(self._numbers(folder), default=None)
            if newest is not None and not _is_whole(self._text(f"{folder}/{newest}") or ""):
                self._delete(f"spark/commits/{newest}")  # first, since a commit needs its offsets
                self._delete(f"{folder}/{newest}")
                return f"{folder}/{newest}"
        return None

    def clear(self) -> None:
        """Removes Spark's part."""
        self._delete("spark")
        self._delete("backlog")

    def begin_backlog(self) -> None:
        """Notes that the first batch will be the backlog in event-time order, which no other batch is."""
        self._write("backlog", True)

    def clear_state(self) -> None:
        """Removes the state, which a batch that was never committed has left."""
        self._delete("spark/state")

    def remove(self) -> None:
        """Removes all."""
        self._delete("")

    # ------------------------------------------------------------ the engine's part

    def claim(self, plan: str, shuffle_partitions: int, topics: Mapping[str, str], earlier: Iterable[str] = ()) -> None:
        """Makes sure that this plan may go on from here, over topics with these ids; the first one signs.

        ``earlier``: plans that this one has replaced and whose state it takes over; it signs in their place.

        Raises EngineProblem ``checkpoint-mismatch`` when another plan, or one with other shuffles, has written it:
        Spark would mistake its state; ``topic-recreated`` when its offsets belong to topics that are gone.
        """
        mine = {"plan": plan, "shufflePartitions": shuffle_partitions}
        found = self._read("plan.json")
        if found is None:
            self._write("plan.json", {**mine, "topics": dict(topics)})
            return
        for topic, known in found.pop("topics", {}).items():
            if topic in topics and topics[topic] != known:
                raise EngineProblem(
                    "topic-recreated",
                    f"topic {topic} was deleted and made anew: what the query has read belongs to the old one",
                    hint="drop the query and create it anew",
                )
        if found.get("plan") in earlier and found.get("shufflePartitions") == shuffle_partitions:
            self._write("plan.json", {**mine, "topics": dict(topics)})
            return
        if found != mine:
            what = (
                "another plan" if found.get("plan") != plan else f"{found.get('shufflePartitions')} shuffle partitions"
            )
            raise EngineProblem(
                "checkpoint-mismatch",
                f"the checkpoint {self.folder} was written with {what}",
                hint="drop the query and create it anew, or go back to the version of ksqlpy that wrote it",
            )

    def note(self, batch: int, ends: Offsets) -> None:
        """Notes the end offsets of the sink topics: no result of a batch after ``batch`` lies before them."""
        self._write(f"sink/{batch}", ends)
        for old in sorted(self._numbers("sink"))[:-KEPT_NOTES]:
            self._delete(f"sink/{old}")

    def forget_notes(self, after: int) -> None:
        """Removes the notes of later batches: they told of batches that were not committed, and will be others now."""
        for number in self._numbers("sink"):
            if number > after:
                self._delete(f"sink/{number}")

    @property
    def noted(self) -> int | None:
        """The last batch for which there is a note."""
        return max(self._numbers("sink"), default=None)

    def ends_before(self, batch: int) -> dict[str, dict[str, int]]:
        """End offsets of the sink topics before which no result of a batch after ``batch`` lies; empty: not known."""
        found: dict[str, dict[str, int]] | None = None
        for number in sorted(self._numbers("sink"), reverse=True):
            if number <= batch and found is None:
                found = self._read(f"sink/{number}")
        return found or {}

    # ------------------------------------------------------------ files

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}" if name else self.folder)

    @contextlib.contextmanager
    def _files(self, name: str) -> Iterator[tuple[Any, Any]]:
        try:
            path = self._path(name)
            yield path.getFileSystem(self._configuration), path
        except Py4JJavaError as e:
            raise EngineProblem(
                "checkpoint-unusable",
                f"the checkpoint {self.folder} cannot be used: {e.java_exception.toString()}",
                hint="is ksqlpy.checkpoint.dir right, and is there room?",
            ) from e

    def names(self, folder: str = "") -> list[str]:
        """The names of what is in the folder."""
        with self._files(folder) as (files, path):
            if not files.exists(path):
                return []
            return [s.getPath().getName() for s in files.listStatus(path)]

    def _numbers(self, folder: str) -> list[int]:
        return [int(n) for n in self.names(folder) if n.removeprefix("-").isdigit()]

    def _text(self, name: str) -> str | None:
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
        """The JSON of a file; None where there is none, or half of one."""
        try:
            return json.loads(self._text(name) or "")
        except ValueError:
            return None

    def _write(self, name: str, content: Any) -> None:
        with self._files(name) as (files, path):
            stream = files.create(path, True)
            try:
                stream.write(json.dumps(content).encode())
            finally:
                stream.close()

    def _delete(self, name: str) -> None:
        with self._files(name) as (files, path):
            files.delete(path, True)


def remove_stale(session: SparkSession, folder: str, known: Iterable[str]) -> list[str]:
    """Removes the checkpoints in the folder of queries that are not known any more; gives their ids.

    What is no checkpoint of ours stays.
    """
    root, kept = Checkpoint(session, folder), set(known)
    stale = [name for name in root.names() if name not in kept and "plan.json" in root.names(name)]
    for name in stale:
        Checkpoint(session, f"{folder}/{name}").remove()
    return stale


def _is_whole(text: str) -> bool:
    """Whether a file of Spark's logs, a version and lines of JSON, is all there."""
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].startswith("v"):
        return False
    try:
        json.loads(lines[-1])
    except ValueError:
        return lines[-1] == "-"  # a source without an offset
    return True
