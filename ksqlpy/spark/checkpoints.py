"""The folder of all checkpoints of a service, on any file system that Hadoop knows.

A query's checkpoint is made before the command log has the query, with a mark that both of them hold. So a checkpoint
that is not there, or has another mark, is told from one that was never begun.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection

from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem
from ksqlpy.spark.belonging import FILE, Belonging, check_belonging
from ksqlpy.spark.checkpoint import MADE, PLAN, Checkpoint

__all__ = ["Checkpoints", "folder_name"]

log = logging.getLogger(__name__)

_TRANSIENT = re.compile(r"transient_.*_[0-9a-f]{12}")


def folder_name(query_id: str) -> str:
    """The name of the folder of a query: its id, where that is the name of a folder."""
    name = query_id.replace("%", "%25").replace("/", "%2F")
    return name if name.strip(".") else name.replace(".", "%2E")


class Checkpoints:
    """All methods raise EngineProblem ``checkpoint-unusable`` if the place cannot be used."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self._root = Checkpoint(session, folder)

    def claim(self, owner: Belonging) -> None:
        """Makes sure that they belong to this owner, and signs; raises as :func:`check_belonging`."""
        text = self._root.text(FILE)
        check_belonging(text, owner, self._root.folder, "folder of the checkpoints")
        if text is None:
            self._root.write(f"{FILE}.part", owner.text)
            self._root.rename(f"{FILE}.part", FILE)

    def reserve(self, query_id: str, mark: str, *, ended: bool) -> None:
        """Makes the checkpoint of a new query. ``ended``: a query of that id has ended, whose checkpoint may go.

        Raises EngineProblem ``checkpoint-exists`` where another one is.
        """
        made = self._of(query_id)
        if set(made.names()) - {MADE}:
            if not ended:
                raise EngineProblem(
                    "checkpoint-exists",
                    f"there is a checkpoint {made.folder} of another query with the id {query_id}",
                    hint="choose another QUERY_ID, or move that folder away",
                    error_code=40001,
                )
            made.remove()
        made.make(mark)

    def clean(self, ended: Collection[str], known: Collection[str]) -> None:
        """Removes the checkpoints of ended queries, and of push queries of an engine that was killed.

        Those of queries that are neither ended nor known stay, and are named in the log.
        """
        gone, kept = {folder_name(q) for q in ended}, {folder_name(q) for q in known}
        for name in sorted(set(self._root.names()) - kept):
            found = Checkpoint(self._session, f"{self._root.folder}/{name}")
            parts = set(found.names())
            if not parts & {PLAN, MADE}:  # no checkpoint
                continue
            if name in gone or parts == {MADE} or _TRANSIENT.fullmatch(name):
                found.remove()
                log.info("checkpoint %s removed: its query has ended", found.folder)
            else:
                log.warning("checkpoint %s is of no query of the command log: it stays as it is", found.folder)

    def _of(self, query_id: str) -> Checkpoint:
        return Checkpoint(self._session, f"{self._root.folder}/{folder_name(query_id)}")
