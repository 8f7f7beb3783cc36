"""The versions of Spark that ksqlpy runs on: those of 4.3 with the private members of ``jvm/spark_internals.txt``.

Those that only a speed-up uses may be missing.
"""

from __future__ import annotations

import json
import re

import pyspark

from ksqlpy.embedded.cache import Progress, cache_folder, digest, part_of
from ksqlpy.embedded.jars import pyspark_jars_folder, spark_jars
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.jvm.contract import CONTRACT, missing

__all__ = ["SPARK_VERSION", "check_pyspark", "check_spark"]

SPARK_VERSION = "4.3.0"
"""The version that the tests run on, whose members are known."""

_ACCEPTED = re.compile(r"4\.3\.\d+")


def check_pyspark(progress: Progress | None = None) -> dict[str, str]:
    """The speed-ups that have to be off with this PySpark, each with a member that is missing.

    Another version than :data:`SPARK_VERSION` is searched for all members once; the cache folder notes what was found.
    Raises EnvironmentProblem ``spark-version`` if it is not of 4.3, or lacks a member that no query runs without.
    """
    version = pyspark.__version__
    if version == SPARK_VERSION:
        return {}
    if not _ACCEPTED.fullmatch(version):
        raise _problem(SPARK_VERSION, version)
    jars = [*sorted(pyspark_jars_folder().glob("*.jar")), *spark_jars(progress)]
    note = cache_folder("spark-contract") / digest(version, CONTRACT.read_bytes(), *map(str, jars))
    if note.exists():
        noted: dict[str, str] = json.loads(note.read_text(encoding="utf-8"))
        return noted
    lacking, speedups = missing(jars)
    if lacking:
        more = f", and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise _problem(SPARK_VERSION, f"{version}, which lacks {lacking[0]}{more}")
    off = {name: members[0] for name, members in speedups.items()}
    whole = part_of(note)
    whole.write_text(json.dumps(off), encoding="utf-8")
    whole.replace(note)
    return off


def check_spark(version: str) -> None:
    """Raises EnvironmentProblem ``spark-version`` if a Spark is of another version than this process's PySpark."""
    if version != pyspark.__version__:
        raise _problem(pyspark.__version__, version)


def _problem(wanted: str, found: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        "spark-version",
        f"ksqlpy needs Spark {wanted}, and this is Spark {found}",
        hint=f"pip install pyspark=={wanted}; if SPARK_HOME is set, unset it or name such a Spark",
    )
