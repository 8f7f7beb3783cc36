"""What the harness raises itself: its codes are not among those that users meet (docs/error-codes.md)."""

from __future__ import annotations

from ksqlpy.errors import KsqlError

__all__ = ["HarnessProblem"]


class HarnessProblem(KsqlError):
    """A part does not start, end or come back, or the machine lacks what a run needs."""
