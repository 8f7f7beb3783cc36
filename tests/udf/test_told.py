"""What the processing log says of functions in Python, and which failures of queries are final."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ksqlpy.deadletters import Letter
from ksqlpy.runtime.logentries import of_function, of_letter
from ksqlpy.spark.failure import failure_of, is_final

TOLD: dict[str, Any] = {
    "query": "CSAS_LOUD_1",
    "function": "SHOUT",
    "prints": False,
    "reason": "ZeroDivisionError: division by zero (line 2)",
    "traceback": 'Traceback (most recent call last):\n  File "function SHOUT", line 2, in shout\n    return 1 / 0\n',
    "more": 41,
}


def test_an_entry_has_the_users_line() -> None:
    entry = of_function(TOLD)
    assert (entry["level"], entry["logger"]) == ("ERROR", "processing.CSAS_LOUD_1")
    error = entry["message"]["recordProcessingError"]
    assert error["errorMessage"] == (
        "function SHOUT failed: ZeroDivisionError: division by zero (line 2)"
        " (and 41 more of this kind since the entry before)"
    )
    assert error["cause"] == [TOLD["traceback"]]


def test_what_is_printed_is_no_error() -> None:
    entry = of_function({**TOLD, "prints": True, "reason": "here", "traceback": "", "more": 0, "query": ""})
    assert (entry["level"], entry["logger"]) == ("INFO", "processing.functions")
    error = entry["message"]["recordProcessingError"]
    assert (error["errorMessage"], error["cause"]) == ("function SHOUT prints: here", [])


def test_a_dead_letter_of_a_function_is_no_record_that_cannot_be_read() -> None:
    reason = "function SHOUT: KeyError: 'a' (line 2)"
    letter = Letter("0-7", "CSAS_LOUD_1", "words", 0, 5, 1000, reason, b"k", b'{"A":1}')
    entry = of_letter(letter, rows=True)
    assert (entry["level"], entry["logger"]) == ("ERROR", "processing.CSAS_LOUD_1")
    assert entry["message"]["recordProcessingError"] == {"errorMessage": reason, "record": '{"A":1}', "cause": []}
    read = of_letter(replace(letter, reason="A: cannot read an object as INTEGER"), rows=True)
    assert read["message"]["deserializationError"]["topic"] == "words"


def test_only_on_error_stop_is_final() -> None:
    said = (
        "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in"
        " stage 3.0 (TID 9) (127.0.0.1 executor 1): ksqlpy.python.Stopped: function SHOUT: KeyError: 'a' (line 2)\n"
        "\tat ksqlpy.python.Call.askOr(Call.java:99)\n"
    )
    assert is_final(RuntimeException(said))
    failed = failure_of(RuntimeException(said))
    assert (failed.kind, failed.message) == ("USER", "function SHOUT: KeyError: 'a' (line 2)")
    assert not is_final(RuntimeException(said.replace("Stopped", "Unasked")))


class RuntimeException(Exception):
    """As it comes from the JVM."""
