"""What went into the topics and what came out of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Result", "Sent"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A record of a source topic.

    ``number``: unique in its topic, from 1 on, rising within every partition; results carry it. ``time``: of the
    record, in ms since 1970.
    """

    number: int
    key: str
    partition: int
    time: int


@dataclass(frozen=True, slots=True)
class Result:
    """A record of a result topic, as its bytes."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def place(self) -> str:
        """Where it lies, for people."""
        return f"partition {self.partition}, offset {self.offset}"

    def columns(self) -> Mapping[str, Any]:
        """The columns of the value; raises ValueError when it has none or is no JSON object."""
        found = json.loads(self.value or b"null")
        if not isinstance(found, dict):
            raise ValueError(f"the value is {self.value!r}")
        return found

    def key_text(self) -> str:
        """The key as text; raises ValueError when there is none or it is no UTF-8."""
        if self.key is None:
            raise ValueError("there is no key")
        return self.key.decode()
