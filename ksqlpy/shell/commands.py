"""Statements for a server, from a text or a file. The exit codes: 0 done, 130 interrupted."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.errors import ConfigProblem, file_reason
from ksqlpy.shell.output import Printer
from ksqlpy.shell.pieces import Piece, split
from ksqlpy.shell.session import Limits, Session

if TYPE_CHECKING:
    from ksqlpy.client import Connection

__all__ = ["Piece", "run_file", "run_text", "split"]


def run_file(
    file: Path,
    server: str | Connection,
    output: str,
    properties: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> int:
    """Runs the statements of a file on a server, one after the other; the first that fails is the last.

    Raises KsqlError; ConfigProblem ``file-unreadable`` for a file that cannot be read.
    """
    try:
        sql = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {file} cannot be read: {file_reason(e)}") from e
    return run_text(sql, server, output, properties, variables=variables, limits=limits)


def run_text(
    sql: str,
    server: str | Connection,
    output: str,
    properties: Mapping[str, str],
    complete: bool = False,
    variables: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> int:
    """Runs the statements of a text in order and prints what they give.

    SET, UNSET, DEFINE and UNDEFINE change what goes with every later statement. Raises KsqlError with the place in the
    whole text; KeyboardInterrupt is dealt with: exit code 130.
    """
    pieces = split(sql, complete)
    session = Session(server, Printer(output), properties, variables, limits=limits)
    with contextlib.closing(session):
        return session.run_pieces(pieces, sql)
