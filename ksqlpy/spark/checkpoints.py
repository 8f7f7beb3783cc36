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
from ksqlpy.spark.checkpoint import MADE, PLAN, Checkpoint
from ksqlpy.spark.folder_owner import FILE, FolderOwner, check_folder_owner

__all__ = ["Checkpoints", "folder_name"]

log = logging.getLogger(__name__)

_TRANSIENT = re.compile(r"transient_.*_[0-9a-f]{12}")


def folder_name(query_id: str) -> str:
    """The name of the folder of a query: its id, where that is the name of a folder."""
    name = query_id.replace("%", "%25").replace("/", "%2F")
    return name if name.strip(".") else name.replace(".", "%2E")


class Checkpoints:
    """Those of one engine's queries, in a ``folder``, a path or a URI.

    Methods raise EngineProblem ``checkpoint-unusable`` if the place cannot be used.
    """

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self._root = folder.rstrip("/")
        self._ended: set[str] = set()
        self._left: set[str] = set()
        """Ids of queries that ended while no JVM could remove their checkpoints."""

    def folder(self, query_id: str) -> str:
        """The checkpoint folder of a query, a path or a URI."""
        return f"{self._root}/{folder_name(query_id)}"

    def of(self, query_id: str) -> Checkpoint:
        """The checkpoint of a query."""
        return Checkpoint(self._session, self.folder(query_id))

    def use(self, session: SparkSession) -> None:
        """Takes another session from now on."""
        self._session = session
        left, self._left = self._left, set()
        for query_id in left:
            self.remove(query_id)

    def take_over(self, owner: FolderOwner, known: Collection[str], ended: Collection[str]) -> None:
        """Makes sure that they are this owner's, and signs; removes those of queries that have ended.

        ``known``: ids of the queries that the command log has, ``ended``: those that it had. Raises as
        :func:`check_folder_owner`, too.
        """
        root = Checkpoint(self._session, self._root)
        text = root.text(FILE)
        check_folder_owner(text, owner, root.folder, "folder of the checkpoints")
        if text is None:
            root.write(f"{FILE}.part", owner.text)
            root.rename(f"{FILE}.part", FILE)
        self._ended.update(ended)
        self.clean(ended, known)

    def give_up(self) -> None:
        """Forgets whose they are; all queries must have ended."""
        Checkpoint(self._session, f"{self._root}/{FILE}").remove()

    def reserve(self, query_id: str, mark: str) -> None:
        """Makes the checkpoint of a query that is about to be made.

        Raises EngineProblem ``checkpoint-exists`` where one is, unless it is of a query of that id that has ended.
        """
        made = self.of(query_id)
        self._left.discard(query_id)
        if set(made.names()) - {MADE}:
            if query_id not in self._ended:
                raise EngineProblem(
                    "checkpoint-exists",
                    f"there is a checkpoint {made.folder} of another query with the id {query_id}",
                    hint="choose another QUERY_ID, or move that folder away",
                    error_code=40001,
                )
            made.remove()
        made.make(mark)

    def remove(self, query_id: str) -> None:
        """Removes that of a query that has ended, so that it can never go on; without a JVM once there is one."""
        self._ended.add(query_id)
        try:
            self.of(query_id).remove()
        except EngineProblem as e:
            log.warning("%s", e)
            self._left.add(query_id)

    def clean(self, ended: Collection[str], known: Collection[str]) -> None:
        """Removes the checkpoints of ended queries, and of push queries of an engine that was killed.

        Those of queries that are neither ended nor known stay, and are named in the log.
        """
        root = Checkpoint(self._session, self._root)
        gone, kept = {folder_name(q) for q in ended}, {folder_name(q) for q in known}
        for name in sorted(set(root.names()) - kept):
            found = Checkpoint(self._session, f"{root.folder}/{name}")
            parts = set(found.names())
            if not parts & {PLAN, MADE}:  # no checkpoint
                continue
            if name in gone or parts == {MADE} or _TRANSIENT.fullmatch(name):
                found.remove()
                log.info("checkpoint %s removed: its query has ended", found.folder)
            else:
                log.warning("checkpoint %s is of no query of the command log: it stays as it is", found.folder)
