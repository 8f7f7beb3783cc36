"""A definition as the statement that creates it, for backups and projects."""

from __future__ import annotations

from ksqlpy.udfs.definition import Definition

__all__ = ["create_statement"]


def create_statement(definition: Definition, *, replace: bool = False) -> str:
    """CREATE FUNCTION, with its semicolon. Raises ValueError where the source has $$ in it, which ends a text."""
    d = definition
    if "$$" in d.body:
        raise ValueError(f"the source of {d.name} has $$ in it")
    kind = "" if d.kind == "SCALAR" else f"{d.kind} "
    parameters = ", ".join(f"{_name(n.upper() if n == n.lower() else n)} {t}" for n, t in d.parameters)
    state = f" STATE {d.state}" if d.state is not None else ""
    options = [f"ON_ERROR = '{d.on_error}'"] if d.on_error != Definition.on_error else []
    if d.timeout_ms != Definition.timeout_ms:
        options.append(f"TIMEOUT = '{d.timeout_ms} milliseconds'")
    return (
        f"CREATE {'OR REPLACE ' if replace else ''}{kind}FUNCTION {_name(d.name)}({parameters})"
        f"\n  RETURNS {d.returns}{state} LANGUAGE PYTHON{'' if d.deterministic else ' NOT DETERMINISTIC'}"
        + (f"\n  WITH ({', '.join(options)})" if options else "")
        + (f"\nAS $${d.body}$$;" if d.body else f"\nAS '{d.callable}';")
    )


def _name(name: str) -> str:
    return f"`{name}`"
