"""The engine and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksqlpy.runtime.engine import Engine
    from ksqlpy.runtime.push import PushQuery

__all__ = ["Engine", "PushQuery"]


def __getattr__(name: str) -> Any:
    """The engine comes with Spark and Kafka, which who only checks statements need not wait for."""
    if name == "Engine":
        from ksqlpy.runtime.engine import Engine

        return Engine
    if name == "PushQuery":
        from ksqlpy.runtime.push import PushQuery

        return PushQuery
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
