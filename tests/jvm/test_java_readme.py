"""ksqlpy/spark/jvm/README.md names every class, and every internal class of Spark that one of them imports."""

from __future__ import annotations

import re

from java_readme import classes, internals, sources

PUBLIC = re.compile(
    r"sql\.(connector|types|streaming|util|SparkSessionExtensions)\b|unsafe\.|SparkContext$|TaskContext$"
)
"""Spark's public interface below org.apache.spark, and what is as stable."""

ONLY_PASSED = {
    "scheduler.SparkListenerInterface",
    "scheduler.TaskScheduler",
    *(
        f"sql.execution.streaming.state.{name}"
        for name in (
            "KeyStateEncoderSpec", "ReadStateStore", "StateSchemaProvider", "StateStoreCheckpointInfo",
            "StateStoreConf", "StateStoreId", "StateStoreIterator", "StateStoreMetrics", "UnsafeRowPair",
        )
    ),
}  # fmt: skip
"""Types of parameters and results of the members that are named."""


def test_each_class_has_its_line() -> None:
    assert classes() == sorted(sources())


def test_each_internal_class_that_is_imported_has_its_line() -> None:
    found = {
        (name, user)
        for user, text in sources().items()
        for name in re.findall(r"^import org\.apache\.spark\.([\w.$]+);", text, re.MULTILINE)
        if not PUBLIC.match(name) and not name.startswith("sql.catalyst.") and name not in ONLY_PASSED
    }
    named = {(row.name, user) for row in internals() for user in row.users}
    assert found - named == set()
    # Known by the name in a stack trace, and by reflection.
    assert named - found == {
        ("shuffle.streaming.StreamingShuffleReader", "Tasks"),
        ("sql.classic.StreamingQueryManager", "Sessions"),
    }


def test_each_member_is_used_where_the_line_says() -> None:
    texts = sources()
    for row in internals():
        used = "".join(texts[user] for user in row.users)
        assert [m for m in row.members if m not in used] == [], row.name
        assert row.reason, row.name
