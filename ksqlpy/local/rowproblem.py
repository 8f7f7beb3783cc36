"""What is wrong with the rows of a file."""

from __future__ import annotations

from ksqlpy.errors import KsqlError

__all__ = ["FileRowProblem"]


class FileRowProblem(KsqlError):
    """A file whose rows do not fit the source; the message begins with the place, ``file:line``."""

    error_code = 40000
