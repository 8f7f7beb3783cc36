"""Which files of a query's checkpoint make a state to which it was committed, and how they are copied while it runs.

The last batch with both its offsets and its commit counts. Spark makes files of the batches behind it all the time, and
removes those of old ones. So of offsets and commits the last few up to that batch are taken; of a state the newest
snapshot up to its version, and the changes behind it; of the notes of the sink the newest that holds for that batch;
and all that ksqlpy keeps beside. None of these is changed once it is written but ksqlpy's own few files. So a copy is
one state if no file went away while it was made, and those few are at its end as they were at its beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

__all__ = ["Committed", "NotWhole", "committed", "own_files"]

_KEPT = 3
"""Offsets and commits that are taken: to go on from a batch Spark reads those of the one before, too."""

_STATE = re.compile(r"(\d+)(?:_([\w-]+))?\.(changelog|delta|zip|snapshot)")
_SNAPSHOTS = ("zip", "snapshot")
_LOGS = re.compile(r"spark/(offsets|commits)/(\d+)")
_NOTE = re.compile(r"sink/(?:([^/]+)/)?(-?\d+)")
_OWN = re.compile(r"[^/]+|keys/[^/]+")
_PLAN, _NOTES = "plan.json", "notes.json"


class NotWhole(Exception):
    """The files make no state now, as some are missing; a query that runs may be changing them."""


@dataclass(frozen=True)
class Committed:
    """A state of a checkpoint: after which batch (None: before the first), its files, and those that may change.

    ``begun``: whether the query has begun; before that it has no key, and what it writes later cannot be recognized.
    """

    batch: int | None
    files: tuple[str, ...]
    own: tuple[str, ...]
    begun: bool


def committed(names: Collection[str], text: Callable[[str], str]) -> Committed:
    """The last committed state; ``names``: all files of the checkpoint, ``text``: reads one.

    Raises :class:`NotWhole`, and what ``text`` raises.
    """
    there, own = {n for n in names if not _passing(n)}, own_files(names)
    logs: dict[str, set[int]] = {"offsets": set(), "commits": set()}
    for kind, number in (m.groups() for n in there if (m := _LOGS.fullmatch(n))):
        logs[kind].add(int(number))
    batches = sorted(logs["offsets"] & logs["commits"], reverse=True)
    commits = {n: text(f"spark/commits/{n}") for n in batches}
    batch = next((n for n in batches if _is_whole(commits[n]) and _is_whole(text(f"spark/offsets/{n}"))), None)
    if batch is None and logs["commits"]:
        raise NotWhole("no batch of it has both its offsets and its commit")
    files = [*own, *_note(there, text, -1 if batch is None else batch)]
    if batch is not None:
        kept = range(batch - _KEPT + 1, batch + 1)
        files += (n for n in there if (m := _LOGS.fullmatch(n)) and int(m[2]) in kept)
        files += (n for n in there if n.startswith("spark/") and not _LOGS.fullmatch(n) and not _state(n))
        files += _states(there, batch + 1, commits)
    files += [crc for n in files if (crc := _checksum_of(n)) in names]
    return Committed(batch, tuple(sorted(files)), tuple(own), _PLAN in there)


def own_files(names: Iterable[str]) -> list[str]:
    """The files that ksqlpy may write again, but for the notes of the sink."""
    return sorted(n for n in names if _OWN.fullmatch(n) and not _passing(n))


def _note(there: set[str], text: Callable[[str], str], batch: int) -> list[str]:
    """The note of the sink that holds for the batch."""
    folder: str | None = None
    if _NOTES in there:
        try:
            folder = json.loads(text(_NOTES).splitlines()[0])["folder"]
        except (ValueError, LookupError, TypeError) as e:
            raise NotWhole(f"{_NOTES} cannot be read") from e
    notes = {int(m[2]): n for n in there if (m := _NOTE.fullmatch(n)) and m[1] == folder}
    good = [n for n in notes if n <= batch]
    if notes and not good:
        raise NotWhole(f"no note of the sink holds for batch {batch}")
    return [notes[max(good)]] if good else []


def _states(there: set[str], version: int, commits: Mapping[int, str]) -> list[str]:
    """The files of states at a version: the newest snapshot of each store, and the changes behind it."""
    stores: dict[str, dict[str, re.Match[str]]] = {}
    for name in there:
        if found := _state(name):
            stores.setdefault(name.rpartition("/")[0], {})[name] = found
    files: list[str] = []
    for folder, known in stores.items():
        of = {n: (int(m[1]), m[2], m[3]) for n, m in known.items() if int(m[1]) <= version}
        base = max(
            (v for v, unique, kind in of.values() if kind in _SNAPSHOTS and _counts(v, unique, commits)), default=0
        )
        changes = {v for v, _, kind in of.values() if kind not in _SNAPSHOTS}
        missing = [v for v in range(base + 1, version + 1) if v not in changes]
        if missing:
            raise NotWhole(f"{folder} has no changes of version {missing[0]}")
        files += (n for n, (v, *_) in of.items() if v >= base)
    return files


def _counts(version: int, unique: str | None, commits: Mapping[int, str]) -> bool:
    """Whether a snapshot is of a batch that was committed, not of an attempt that another one has replaced."""
    commit = commits.get(version - 1)
    return unique is None or commit is None or unique in commit


def _state(name: str) -> re.Match[str] | None:
    """The match of a file of one version of a state."""
    return _STATE.fullmatch(name.rpartition("/")[2]) if name.startswith("spark/state/") else None


def _passing(name: str) -> bool:
    """Whether a file is there for a moment only, or goes with another: checksums, and what is being written."""
    last = name.rpartition("/")[2]
    return last.startswith(".") or last.endswith((".tmp", ".part"))


def _checksum_of(name: str) -> str:
    """The file in which Hadoop keeps the checksum of a local one."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}.{last}.crc"


def _is_whole(text: str) -> bool:
    """Whether a file of Spark's logs is all there: see :meth:`ksqlpy.spark.checkpoint.Checkpoint.mend`."""
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].startswith("v"):
        return False
    try:
        json.loads(lines[-1])
    except ValueError:
        return lines[-1] == "-"
    return True
