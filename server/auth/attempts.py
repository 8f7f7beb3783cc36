"""How often somebody may try to log in: so many at once, then so many a second, by address and by name."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["Attempts", "place_of"]

ADDRESS = 30.0, 1.0
"""Attempts of an address at once, and then a second."""
NAME = 10.0, 0.2
"""Attempts with a name at once, and then a second."""
MOST = 10_000
"""Addresses, and names, that are remembered; those that have rested longest are forgotten."""


class _Buckets:
    """What is left to each, up to a number, refilled by the second."""

    def __init__(self, most: float, rate: float) -> None:
        self._most = most
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def left(self, key: str, now: float) -> float:
        left, at = self._left.get(key, (self._most, now))
        return min(self._most, left + (now - at) * self._rate)

    def put(self, key: str, left: float, now: float) -> None:
        if left >= self._most:
            self._left.pop(key, None)
            return
        self._left[key] = left, now
        self._left.move_to_end(key)
        if len(self._left) > MOST:
            self._left.popitem(last=False)

    def wait(self, left: float) -> float:
        return max(0.0, (1.0 - left) / self._rate)


class Attempts:
    """Counts attempts from their begin, so that many at one time are no way around; those that succeed do not count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._addresses = _Buckets(*ADDRESS)
        self._names = _Buckets(*NAME)

    def begin(self, address: str, name: str | None = None) -> int:
        """Counts an attempt and gives 0; or the seconds after which one may be made, and counts none."""
        now = self._clock()
        asked = self._asked(address, name)
        waits = [buckets.wait(buckets.left(key, now)) for buckets, key in asked]
        if max(waits) > 0:
            return math.ceil(max(waits))
        for buckets, key in asked:
            buckets.put(key, buckets.left(key, now) - 1, now)
        return 0

    def succeeded(self, address: str, name: str | None = None) -> None:
        """The attempt does not count."""
        now = self._clock()
        for buckets, key in self._asked(address, name):
            buckets.put(key, buckets.left(key, now) + 1, now)

    def _asked(self, address: str, name: str | None) -> list[tuple[_Buckets, str]]:
        asked = [(self._addresses, place_of(address))]
        return asked if name is None else [*asked, (self._names, name[:200])]


def place_of(address: str) -> str:
    """What stands for an address: of IPv6 the network of its first 64 bits, all of which one customer has."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)
