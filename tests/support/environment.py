"""The environment as threads of a test read it: httpx does so at each request, in search of proxies.

pytest sets a variable of its own ahead of each test and removes it behind. A thread that goes through the environment
meanwhile would fail with a KeyError.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

__all__ = ["Steady"]

_COMES_AND_GOES = "PYTEST_CURRENT_TEST"


class Steady(type(os.environ)):  # type: ignore[misc]  # os has no name for that class
    """An environment whose names are listed without that variable."""

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return (name for name in super().__iter__() if name != _COMES_AND_GOES)


os.environ.__class__ = Steady
