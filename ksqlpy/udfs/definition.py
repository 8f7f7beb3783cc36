"""What a function in Python is: all that a worker, a stored plan and the command log must know of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from ksqlpy.types import ArrayType, SqlType, type_from_json, type_to_json

__all__ = ["METHODS", "Definition", "Kind", "OnError"]

Kind = Literal["SCALAR", "AGGREGATE", "TABLE"]
OnError = Literal["null", "dead-letter", "stop"]
"""What a call that fails gives: null, no result but a dead letter (of an AGGREGATE never), or the end of its query."""

MOST_STATE = 1 << 20
"""Bytes of the state of a group: it is written for each of its rows."""

METHODS = ("init", "add", "undo", "merge", "result")
"""What a worker can be asked for of an AGGREGATE; of the other kinds there is one call, without a name."""


@dataclass(frozen=True)
class Definition:
    """A function in Python.

    ``body`` is Python source text in which ``callable`` is defined; it is empty for the function of an installed
    module, whose ``callable`` is ``module:name`` and whose ``module_digest`` is the SHA-256 of the module's file when
    the function was created. A worker refuses a module that is another by then.

    ``returns``: of a TABLE the type of one row's value; a worker gives all rows as one ARRAY. ``state``, ``undo`` and
    ``merge`` are an AGGREGATE's: the type of what it keeps of a group, and the optional methods that it has.
    """

    name: str
    kind: Kind
    parameters: tuple[tuple[str, SqlType], ...]
    returns: SqlType
    body: str
    callable: str
    deterministic: bool = True
    on_error: OnError = "null"
    timeout_ms: int = 1000
    help: str = ""
    state: SqlType | None = None
    undo: bool = False
    merge: bool = False
    module_digest: str = ""

    @property
    def hash(self) -> str:
        """The SHA-256 of everything that its results depend on: not of its help, nor of its time limit."""
        parts = self.to_json()
        for other in ("help", "timeout_ms", "deterministic"):
            del parts[other]
        return hashlib.sha256(_text(parts).encode()).hexdigest()

    @property
    def arguments(self) -> tuple[SqlType, ...]:
        """The types of the parameters."""
        return tuple(t for _, t in self.parameters)

    def signature(self, method: str = "") -> tuple[tuple[SqlType, ...], SqlType]:
        """The types that a call takes and gives; ``method``: one of METHODS, of an AGGREGATE.

        Raises ValueError for what the function has not.
        """
        if self.kind != "AGGREGATE" or self.state is None:
            if method:
                raise ValueError(f"{self.name} has no method {method}")
            return self.arguments, ArrayType(self.returns) if self.kind == "TABLE" else self.returns
        match method:
            case "init":
                return (), self.state
            case "add":
                return (self.state, *self.arguments), self.state
            case "undo" if self.undo:
                return (self.state, *self.arguments), self.state
            case "merge" if self.merge:
                return (self.state, self.state), self.state
            case "result":
                return (self.state,), self.returns
        raise ValueError(f"{self.name} has no method {method}")

    def to_json(self) -> dict[str, Any]:
        """The definition as plain JSON data; equal definitions have equal data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "parameters": [[n, type_to_json(t)] for n, t in self.parameters],
            "returns": type_to_json(self.returns),
            "body": self.body,
            "callable": self.callable,
            "deterministic": self.deterministic,
            "on_error": self.on_error,
            "timeout_ms": self.timeout_ms,
            "help": self.help,
            "state": None if self.state is None else type_to_json(self.state),
            "undo": self.undo,
            "merge": self.merge,
            "module_digest": self.module_digest,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Definition:
        """The inverse of :meth:`to_json`; raises ValueError for anything else."""
        try:
            return cls(
                **{
                    **data,
                    "parameters": tuple((str(n), type_from_json(t)) for n, t in data["parameters"]),
                    "returns": type_from_json(data["returns"]),
                    "state": None if data.get("state") is None else type_from_json(data["state"]),
                }
            )
        except (KeyError, TypeError) as e:
            raise ValueError(f"not a function in Python: {e}") from e

    def to_call(self, method: str = "") -> dict[str, Any]:
        """What a worker and the JVM are told of a call: what of the function it needs, with the call's own types.

        The texts of plans have it, so that it has nothing that does not change a call.
        """
        takes, gives = self.signature(method)
        most = {"most": MOST_STATE} if method and method != "result" else {}
        return {
            "name": self.name,
            "callable": self.callable,
            "body": self.body,
            "module_digest": self.module_digest,
            "kind": self.kind,
            "method": method,
            "takes": [type_to_json(t) for t in takes],
            "gives": type_to_json(gives),
            **most,
            "names": [] if method else [n for n, _ in self.parameters],
            "on_error": self.on_error,
            "timeout_ms": self.timeout_ms,
            "deterministic": self.deterministic,
        }


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
