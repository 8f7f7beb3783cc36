"""The Spark that PySpark brings, without what would only make its start longer."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

from ksqlpy.embedded.cache import cache_folder, digest
from ksqlpy.embedded.jars import pyspark_jars_folder

__all__ = ["spark_home"]

_FOLDERS = ("bin", "conf", "python")
"""Taken as they are; Python workers take pyspark from the last."""

_SIGNATURES = (".SF", ".DSA", ".RSA", ".EC")
"""Endings of the files in META-INF that make a jar a signed one."""

_LEFT_OUT = ("spark-mllib_",)
"""Beginnings of jars' names. Sessions register MLlib's functions by Scala reflection, a third of their start."""


def spark_home() -> Path:
    """A folder for ``SPARK_HOME``: that of the environment, else links to PySpark's files in the cache folder.

    Signed jars are copied without their signatures: a JVM checks each class of theirs against its digest, and takes
    none into an archive. They are those of Janino, which compiles every query.

    Raises EnvironmentProblem ``pyspark-missing``, ``cache-folder``.
    """
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    theirs = pyspark_jars_folder()
    jars = sorted(jar for jar in theirs.glob("*.jar") if not jar.name.startswith(_LEFT_OUT))
    home = cache_folder("spark-home") / digest("no signatures", *_FOLDERS, *map(str, jars))
    if not home.is_dir():
        with tempfile.TemporaryDirectory(prefix=".", dir=home.parent) as scratch:
            made = Path(scratch) / "home"
            (made / "jars").mkdir(parents=True)
            for name in _FOLDERS:
                (made / name).symlink_to(theirs.parent / name)
            for jar in jars:
                _take(jar, made / "jars" / jar.name)
            try:
                made.rename(home)
            except OSError:  # another process was quicker
                if not home.is_dir():
                    raise
    return home


def _take(jar: Path, place: Path) -> None:
    """A link to the jar, or a copy that is not signed."""
    with zipfile.ZipFile(jar) as signed:
        kept = [entry for entry in signed.infolist() if not _signs(entry.filename)]
        if len(kept) == len(signed.infolist()):
            place.symlink_to(jar)
            return
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as unsigned:
            for entry in kept:
                unsigned.writestr(entry, signed.read(entry))


def _signs(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return folder == "META-INF" and file.endswith(_SIGNATURES)
