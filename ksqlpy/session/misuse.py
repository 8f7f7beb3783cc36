"""What a program is told that uses a session in a way that cannot work."""

from __future__ import annotations

from ksqlpy.errors import KsqlError, RowProblem

__all__ = ["forked", "result_closed", "row_refused", "session_closed"]


def session_closed(*, before: bool = False) -> KsqlError:
    """The session is used after its end, or ``before`` its beginning."""
    said = "the session is not open yet" if before else "the session is closed"
    hint = "await it, or enter it with async with" if before else "keep it open as long as it is used"
    return KsqlError("session-closed", said, hint=hint, error_code=40000)


def result_closed() -> KsqlError:
    """A result is read after it was closed."""
    hint = "read its rows before close(), and inside of its with block"
    return KsqlError("result-closed", "the result is closed", hint=hint, error_code=40000)


def forked(opened_by: int) -> KsqlError:
    """A process uses what it has from its parent by a fork."""
    said = f"the session was opened by process {opened_by}, and cannot be used by a process that was forked from it"
    hint = "open a session in this process, or start processes with the method spawn"
    return KsqlError("session-forked", said, hint=hint, error_code=40000)


def row_refused(before: int, error: KsqlError) -> RowProblem:
    """A row is not written; so many before it are."""
    said = f"row {before + 1} is not inserted: {error.message}; those before it are"
    return RowProblem(before, error.code, said, hint=error.hint, similar=error.similar, error_code=error.error_code)
