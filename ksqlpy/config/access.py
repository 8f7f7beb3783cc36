"""Who may come in, and by which door: logins, listeners, TLS."""

from __future__ import annotations

import re
from pathlib import Path

from ksqlpy.config.property import Property

__all__ = ["ACCESS"]


def _file(value: str) -> str:
    # Whole, since a reader process has another working directory.
    return value and str(Path(value.strip()).expanduser().absolute())


def _paths(value: str) -> str:
    paths = [p.strip() for p in value.split(",") if p.strip()]
    if not all(re.fullmatch(r"/[!-+\--~]*", p) for p in paths):
        raise ValueError("must be paths such as /healthcheck or /v1/*, with commas between them")
    return ",".join(paths)


ACCESS = (
    Property(
        "ksqlpy.auth.users.file",
        "",
        "File of the users who may log in by name and password (HTTP Basic); ksqlpy users writes it. Empty: none.",
        _file,
    ),
    Property(
        "ksqlpy.auth.tokens.file",
        "",
        "File of the API tokens (Authorization: Bearer); ksqlpy tokens writes it. Empty: there are none.",
        _file,
    ),
    Property(
        "authentication.skip.paths",
        "/live,/ready,/chc/live,/chc/ready",
        "Paths for which nobody is asked for a login, with commas between them; * stands for any part of one.",
        _paths,
    ),
)
