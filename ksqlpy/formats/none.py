"""Format NONE: no columns, and no bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksqlpy.catalog import PartSpec
from ksqlpy.formats.contract import Codec, Format, Limits, Written

__all__ = ["NONE"]


class _None(Format):
    name = "NONE"
    about = "no columns: what a topic has there is not read, and nothing is written"
    limits = Limits(most=0, wraps=frozenset())

    def reader(self, spec: PartSpec, data: str) -> str:
        """Nothing is read."""
        return "named_struct('row', cast(null as struct<>), 'error', cast(null as string))"

    def writer(self, spec: PartSpec, columns: Sequence[Written]) -> str:
        """No bytes."""
        return "cast(null as binary)"

    def codec(self, spec: PartSpec) -> Codec:
        """Nothing is read or written."""
        return _Nothing()


class _Nothing:
    def decode(self, data: bytes | None) -> tuple[Any, ...] | None:
        return None

    def encode(self, values: Sequence[Any] | None) -> bytes | None:
        return None


NONE = _None()
