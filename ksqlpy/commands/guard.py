"""Errors and interruptions of a command."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import TextIO

from ksqlpy.errors import KsqlError, as_problem

__all__ = ["guarded"]

log = logging.getLogger(__name__)


def guarded(body: Callable[[], int]) -> int:
    """Runs a command; draws its error on stderr. Gives the exit code: what it gave, 1 failed, 3 the service is lost
    to another server, 130 interrupted.

    No traceback is shown, also of what nobody expected, unless KSQLPY_TRACEBACK is set.
    """
    threading.excepthook = _thread_failed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the locale has no character for
    try:
        try:
            status = body()
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            raise
        except Exception as e:
            if _interrupted(e):
                return 130
            sys.stdout.flush()
            _tell(e)
            return e.exit_code if isinstance(e, KsqlError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `ksqlpy … | head`: nobody reads any more
        with _nowhere() as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return 141


def _tell(error: Exception) -> None:
    from ksqlpy.shell.text import escaped

    if os.environ.get("KSQLPY_TRACEBACK"):
        traceback.print_exception(error)
    print(escaped(as_problem(error).render(), keep="\n"), file=sys.stderr)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    """A thread that ends by an exception is a line, which goes where logs go."""
    if not isinstance(failed.exc_value, Exception):
        return
    name = failed.thread.name if failed.thread is not None else "?"
    shown = bool(os.environ.get("KSQLPY_TRACEBACK"))
    log.error("thread %s ended: %s", name, as_problem(failed.exc_value).message, exc_info=shown and failed.exc_value)


def _interrupted(error: BaseException) -> bool:
    """Whether it came up only while an interruption was ending the work."""
    context = error.__context__
    return context is not None and (isinstance(context, KeyboardInterrupt) or _interrupted(context))


@contextlib.contextmanager
def _nowhere() -> Iterator[TextIO]:
    with open(os.devnull, "w") as nowhere:
        yield nowhere
