"""A stream of rows without Kafka: the rows are kept, and are there at once, or when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from ksqlpy.errors import AnalysisProblem, ConfigProblem, KsqlError

__all__ = ["FakeInserts"]


class FakeInserts:
    """Refuses rows that are not JSON, and that are ``{"bad": …}``. ``room``: rows that may be on their way.

    ``begin``: the number of the first row, ``standing``: how many there are of its id; those come again.
    """

    def __init__(
        self, target: str, held: bool = False, room: int = 100, standing: int | None = None, begin: int | None = None
    ) -> None:
        if target == "nowhere":
            raise ConfigProblem("unknown-source", "there is no stream or table NOWHERE", similar=["NOW"])
        self.target = target
        self.most = 2_000
        self.rows: list[object] = []
        self.standing = standing
        self._begin = (standing or 0) if begin is None else begin
        self._again = 0
        self.acked = self._begin
        self.closed = False
        self.batches: list[int] = []
        self.tell: Callable[[], None] = lambda: None
        self._held = held
        self.room = room
        self._refused: KsqlError | None = None

    @property
    def taken(self) -> int:
        return self._begin + self._again + len(self.rows)

    @property
    def has_room(self) -> bool:
        return self.taken - self.acked < self.room

    @property
    def ended(self) -> bool:
        return self._refused is not None

    @property
    def failure(self) -> KsqlError | None:
        return self._refused if self.acked == self.taken else None

    def write(self, lines: Sequence[bytes]) -> int:
        begin = self.taken
        for line in lines:
            if self.ended or not self.has_room:
                break
            if self.standing is not None and self.taken < self.standing:
                self._again += 1
                self.acked += 1
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as e:
                self.refuse(AnalysisProblem("bad-row", f"the row is not JSON: {e}", error_code=40000))
                break
            if "bad" in row:
                self.refuse(AnalysisProblem("wrong-type", "column BAD is INTEGER", error_code=40000))
                break
            self.rows.append(row)
            if not self._held:
                self.acked += 1
        self.batches.append(self.taken - begin)
        return self.taken - begin

    def arrive(self, count: int) -> None:
        """So many more rows are there."""
        self.acked += count
        self.tell()

    def refuse(self, problem: KsqlError) -> None:
        self._refused = self._refused or problem

    def close(self) -> None:
        self.closed = True
