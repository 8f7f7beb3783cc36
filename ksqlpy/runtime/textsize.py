"""How much text one request may have: it is read at once, and others wait for the interpreter meanwhile."""

from __future__ import annotations

from ksqlpy.config import Config
from ksqlpy.errors import SyntaxProblem

__all__ = ["check_bytes", "check_size"]

MOST = "ksqlpy.statements.max.bytes"


def check_size(sql: str, config: Config) -> None:
    """Raises SyntaxProblem for a text of more bytes (UTF-8) than the property allows, before it is read."""
    # The text in UTF-8 has at least its characters in bytes.
    check_bytes(len(sql) if len(sql) > config.number(MOST) else len(sql.encode(errors="replace")), config)


def check_bytes(count: int, config: Config) -> None:
    """As :func:`check_size`, where the number of bytes is known."""
    most = config.number(MOST)
    if count > most:
        raise SyntaxProblem(
            "text-too-long",
            f"the statements have more than {most:,} bytes",
            hint=f"send them in several requests, or raise the server property {MOST}",
        )
