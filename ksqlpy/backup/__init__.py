"""Backups of a service: its command log and its checkpoints, kept somewhere else and brought back.

Nothing goes by way of a server: who may read the server's data folder and its command log may make a backup, also while
the server runs or when it cannot run any more. See docs/operations.md.
"""

from __future__ import annotations

from ksqlpy.backup.make import LOGINS, Made, make_backup
from ksqlpy.backup.manifest import Manifest
from ksqlpy.backup.places import LocalPlace, Place, Places, is_uri
from ksqlpy.backup.restore import Restored, choose, list_backups, restore_backup
from ksqlpy.backup.service import Service
from ksqlpy.backup.store import Store

__all__ = [
    "LOGINS",
    "LocalPlace",
    "Made",
    "Manifest",
    "Place",
    "Places",
    "Restored",
    "Service",
    "Store",
    "choose",
    "is_uri",
    "list_backups",
    "make_backup",
    "restore_backup",
]
