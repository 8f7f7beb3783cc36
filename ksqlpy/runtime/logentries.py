"""Entries of the processing log, as JSON objects of ksqlDB's form.

Source of the form: ksqlDB's documentation, Processing Log.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Any

from ksqlpy.deadletters import Letter
from ksqlpy.spark.failure import Failure

__all__ = ["of_failed_values", "of_failure", "of_function", "of_letter"]

_KINDS = (
    "deserializationError",
    "recordProcessingError",
    "productionError",
    "serializationError",
    "kafkaStreamsThreadError",
)
"""What happened, in the order of ksqlDB's numbers."""

MOST = 500_000
"""Bytes of a record that an entry holds; of longer ones it says nothing, they would not fit into a record."""

KEY = "key: "
"""Begins the reason of a dead letter whose key cannot be read."""

CALL = "function "
"""Begins the reason of one whose function in Python failed."""


def of_letter(letter: Letter, *, rows: bool) -> dict[str, Any]:
    """The entry of a dead letter: a record that was not read, or a result that was not written.

    ``rows``: with the record.
    """
    key = letter.reason.startswith(KEY)
    data = letter.key if key else letter.value
    shown = data if rows and data is not None and len(data) <= MOST else None
    if letter.result is not None:
        return _entry(
            f"{letter.query}.KsqlTopic.Sink",
            1,
            {"errorMessage": letter.reason, "record": None if shown is None else _text(shown), "cause": []},
        )
    if letter.reason.startswith(CALL):
        return _entry(
            letter.query,
            1,
            {"errorMessage": letter.reason, "record": None if shown is None else _text(shown), "cause": []},
        )
    return _entry(
        f"{letter.query}.KsqlTopic.Source.deserializer",
        0,
        {
            "target": "key" if key else "value",
            "errorMessage": letter.reason,
            "recordB64": None if shown is None else base64.b64encode(shown).decode(),
            "cause": [],
            "topic": letter.topic,
        },
    )


def of_failed_values(query_id: str, count: int) -> dict[str, Any]:
    """The entry of so many values, or rows of WHERE, that an error made null since the entry before."""
    said = f"{count} {'expression' if count == 1 else 'expressions'} failed: the result is null, or the row left out"
    return _entry(query_id, 1, {"errorMessage": said, "record": None, "cause": []})


def of_function(told: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a call of a function in Python that failed, with the traceback; or of what a function prints."""
    prints = told["prints"]
    said = f"function {told['function']} {'prints' if prints else 'failed'}: {told['reason']}"
    if told["more"]:
        said += f" (and {told['more']} more of this kind since the entry before)"
    cause = [told["traceback"]] if told["traceback"] else []
    entry = _entry(told["query"] or "functions", 1, {"errorMessage": said, "record": None, "cause": cause})
    return {**entry, "level": "INFO"} if prints else entry


def of_failure(query_id: str, failure: Failure) -> dict[str, Any]:
    """The entry of a query that failed."""
    return _entry(
        query_id, 4, {"errorMessage": failure.message, "threadName": f"query {query_id}", "cause": [failure.kind]}
    )


def _entry(logger: str, kind: int, error: dict[str, Any]) -> dict[str, Any]:
    message = {"type": kind, **dict.fromkeys(_KINDS), _KINDS[kind]: error}
    return {"level": "ERROR", "logger": f"processing.{logger}", "time": int(time.time() * 1000), "message": message}


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()
