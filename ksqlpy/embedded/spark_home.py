"""The Spark that PySpark brings, without what would only make its start longer."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ksqlpy.embedded.cache import cache_folder, digest
from ksqlpy.embedded.jars import pyspark_jars_folder

__all__ = ["spark_home"]

_FOLDERS = ("bin", "conf", "python")
"""Taken as they are; Python workers take pyspark from the last."""

_LEFT_OUT = ("spark-mllib_",)
"""Beginnings of jars' names. Sessions register MLlib's functions by Scala reflection, a third of their start."""


def spark_home() -> Path:
    """A folder for ``SPARK_HOME``: that of the environment, else links to PySpark's files in the cache folder.

    Raises EnvironmentProblem ``pyspark-missing``, ``cache-folder``.
    """
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    theirs = pyspark_jars_folder()
    jars = sorted(jar for jar in theirs.glob("*.jar") if not jar.name.startswith(_LEFT_OUT))
    home = cache_folder("spark-home") / digest(*_FOLDERS, *map(str, jars))
    if not home.is_dir():
        with tempfile.TemporaryDirectory(prefix=".", dir=home.parent) as scratch:
            made = Path(scratch) / "home"
            (made / "jars").mkdir(parents=True)
            for name in _FOLDERS:
                (made / name).symlink_to(theirs.parent / name)
            for jar in jars:
                (made / "jars" / jar.name).symlink_to(jar)
            try:
                made.rename(home)
            except OSError:  # another process was quicker
                if not home.is_dir():
                    raise
    return home
