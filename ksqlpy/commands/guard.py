"""Errors and interruptions of a command."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from ksqlpy.errors import KsqlError

__all__ = ["guarded"]


def guarded(body: Callable[[], int]) -> int:
    """Runs a command; draws its error on stderr. Gives the exit code: what it gave, 1 failed, 130 interrupted."""
    from ksqlpy.shell.output import escaped

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the locale has no character for
    try:
        status = body()
        sys.stdout.flush()
        return status
    except KsqlError as e:
        if _interrupted(e):
            return 130
        sys.stdout.flush()
        print(escaped(e.render(), keep="\n"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `ksqlpy … | head`: nobody reads any more
        with _nowhere() as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return 141
    except Exception as e:
        if _interrupted(e):
            return 130
        raise


def _interrupted(error: BaseException) -> bool:
    """Whether it came up only while an interruption was ending the work."""
    context = error.__context__
    return context is not None and (isinstance(context, KeyboardInterrupt) or _interrupted(context))


@contextlib.contextmanager
def _nowhere() -> Iterator[TextIO]:
    with open(os.devnull, "w") as nowhere:
        yield nowhere
