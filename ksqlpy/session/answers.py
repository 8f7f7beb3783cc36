"""Answers to statements: the entities of the REST API, with names for what is asked most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Answer"]


class Answer(Mapping[str, Any]):
    """The answer to a statement: an entity of the REST API, read-only.

    >>> made = Answer({"@type": "currentStatus", "commandStatus": {"message": "Table created", "queryId": "CTAS_N_1"}})
    >>> made.kind, made.query_id, made.text
    ('currentStatus', 'CTAS_N_1', 'Table created')
    """

    __slots__ = ("_entity",)

    def __init__(self, entity: Mapping[str, Any]) -> None:
        self._entity = entity

    @property
    def kind(self) -> str:
        """What it is, such as ``currentStatus``, ``streams`` or ``queryDescription``: its ``@type``."""
        return str(self._entity.get("@type", ""))

    @property
    def statement(self) -> str:
        """The statement that it is the answer to."""
        return str(self._entity.get("statementText", ""))

    @property
    def query_id(self) -> str | None:
        """The persistent query that the statement has started, None where it has started none."""
        found = (self._entity.get("commandStatus") or {}).get("queryId")
        return None if found is None else str(found)

    @property
    def warnings(self) -> list[str]:
        """What the statement was warned of."""
        return [str(w.get("message")) for w in self._entity.get("warnings") or []]

    @property
    def text(self) -> str:
        """The answer as the shell shows it."""
        from io import StringIO

        from ksqlpy.shell.output import Printer

        stream = StringIO()
        Printer(stream=stream).entities([self._entity])
        return stream.getvalue().rstrip("\n")

    def __getitem__(self, name: str) -> Any:
        return self._entity[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entity)

    def __len__(self) -> int:
        return len(self._entity)

    def __repr__(self) -> str:
        return f"<ksqlpy.Answer {self.kind}: {self.text.splitlines()[0] if self.text else ''}>"
