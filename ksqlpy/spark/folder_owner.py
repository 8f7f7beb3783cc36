"""Which cluster, service and command log a folder belongs to: its checkpoints mean nothing anywhere else.

The data folder and the folder of the checkpoints each keep it in the file ``belongs.json``. An engine that finds
another cluster, service or log there does not start: it would take the queries for ended, or go on from offsets of
other topics.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ksqlpy.errors import EngineProblem

__all__ = ["FILE", "RESTORING", "FolderOwner", "check_folder", "check_folder_owner", "sign_folder"]

FILE = "belongs.json"

RESTORING = "restoring"
"""Stands for the command log of a folder into which a backup is being restored: nobody may use it before the end."""


@dataclass(frozen=True)
class FolderOwner:
    """``cluster``: Kafka's id of it; ``command_log``: the id of that topic, which a recreated topic has not."""

    cluster: str
    service: str
    command_log: str

    @property
    def text(self) -> str:
        """As it stands in the file."""
        return json.dumps(asdict(self))


_CALLED = {"cluster": "the Kafka cluster", "service": "the service", "command_log": "the command log topic with the id"}
_HINT = (
    "start with the bootstrap.servers and ksql.service.id of the folder, or name another folder; who gives up its"
    " queries deletes it, who has moved the command log deletes the file {file} in it"
)


def check_folder_owner(text: str | None, now: FolderOwner, folder: str, what: str) -> None:
    """Compares with what the file holds, None if there is none; ``what``: how messages call the folder.

    Raises EngineProblem ``other-cluster``, ``other-service``, ``other-command-log`` with both ids,
    ``restore-unfinished``, or ``folder-unreadable``.
    """
    if text is None:
        return
    try:
        known = FolderOwner(**json.loads(text))
    except (ValueError, TypeError) as e:
        raise EngineProblem(
            "folder-unreadable",
            f"the file {FILE} of the {what} {folder} is garbled: it is not known to which cluster the folder belongs",
            hint=f"if it belongs to cluster {now.cluster} and service {now.service}, delete that file",
        ) from e
    if known.command_log == RESTORING:
        raise EngineProblem(
            "restore-unfinished",
            f"a backup was not restored to its end into the {what} {folder}",
            hint="run `ksqlpy restore` again: it begins anew",
        )
    for field, called in _CALLED.items():
        before, here = getattr(known, field), getattr(now, field)
        if before != here:
            found = f"this is {here}" if here else "there is none"
            raise EngineProblem(
                f"other-{field.replace('_', '-')}",
                f"the {what} {folder} belongs to {called} {before}, {found}",
                hint=_HINT.format(file=FILE),
            )


def check_folder(folder: Path, now: FolderOwner) -> None:
    """As :func:`check_folder_owner`, for the data folder."""
    file = folder / FILE
    check_folder_owner(file.read_text(encoding="utf-8") if file.exists() else None, now, str(folder), "data folder")


def sign_folder(folder: Path, now: FolderOwner) -> None:
    """Notes in the data folder what it belongs to."""
    part = folder / f"{FILE}.part"
    part.write_text(now.text, encoding="utf-8")
    part.replace(folder / FILE)
