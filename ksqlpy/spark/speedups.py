"""The parts of ksqlpy that reach into Spark only to be quick (``jvm/speedups``): each of them can be off.

One is off where this Spark lacks a member that it uses (``jvm/spark_internals.txt``), where its Java classes are not
there, and where the setting :data:`SETTING` names it. Results are the same without.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ksqlpy.errors import ConfigProblem

__all__ = ["SETTING", "SPEEDUPS", "settings_without", "warnings_about"]

SETTING = "spark.ksqlpy.speedups.off"
"""The names of those that are off, with commas between."""

SPEEDUPS: Mapping[str, str] = {
    "expression-reader": "Spark's grammar parses expressions, each in 10 to 20 ms in a new JVM, nested ones in seconds",
    "executor-quarantine": "an executor that joins gets tasks before it is prepared for them",
    "kept-plans": "Spark optimizes the plan of each batch again, while results wait",
    "state-metadata": "the first tasks of an executor load what reads the metadata of states",
    "optimizer-rules": "Spark's optimizer looks for files, variants and subqueries in each plan",
}
"""What is slower without, by name."""

_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"


def settings_without(lacking: Iterable[str], settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session in which those are off that this Spark lacks members for, and that the user names.

    Raises ConfigProblem ``invalid-property`` for a name that there is not.
    """
    named = [name.strip() for name in settings.get(SETTING, "").split(",") if name.strip()]
    for name in named:
        if name not in SPEEDUPS:
            raise ConfigProblem(
                "invalid-property",
                f"ksqlpy.spark.conf.{SETTING}: there is no speed-up {name}",
                hint=f"those are {', '.join(SPEEDUPS)}",
            )
    off = [name for name in SPEEDUPS if name in {*lacking, *named}]
    made = {**settings, SETTING: ",".join(off)} if off else dict(settings)
    if "optimizer-rules" in off:
        made.pop(_EXCLUDED_RULES, None)
    return made


def warnings_about(off: Iterable[str], lacking: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
    """A line for each speed-up that is off: why, and what is slower.

    ``off``: those that the JVM says; ``lacking``: a member that is missing, by name; ``settings``: of the session.
    """
    named = settings.get(SETTING, "").split(",")
    lines = []
    for name in SPEEDUPS:
        if name in lacking:
            why = f"this Spark lacks {lacking[name]}"
        elif name in named:
            why = f"{SETTING} names it"
        elif name in off:
            why = "its Java classes are missing"
        else:
            continue
        lines.append(f"the speed-up {name} is off, since {why}: {SPEEDUPS[name]}")
    return lines
