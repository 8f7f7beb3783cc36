"""Events of the recipes: clicks, payments, orders and supplies, readings of sensors.

Each function gives what its tables hold from the start, then ``count`` events. The same seed gives the same events.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from bench.suite import Event, Value

__all__ = ["BEGIN", "anomaly", "clickstream", "fraud", "inventory"]

BEGIN = 1_700_000_000_000
"""The time of the first event, in ms since 1970."""

_SECOND = 1000


# ------------------------------------------------------------ clickstream

_USERS, _VISITORS = 400, 40
"""Who there is, and who is on the site at the same time."""
_PLANS = ("free", "free", "free", "basic", "premium")
_PAGES = ("/", "/search", "/offers", "/basket", "/help", *(f"/article/{n}" for n in range(1, 31)))
_STATUSES = (*[200] * 92, *[304] * 3, *[404] * 3, 500, 503)
_CLICK_EVERY = 20
_STAY = 1_000
"""A visitor leaves after so many clicks of all visitors, on the average."""


def clickstream(count: int, seed: int) -> Iterator[Event]:
    """Users, then their clicks: 40 of 400 users click by turns, and who has left comes again minutes later."""
    chance = random.Random(f"clickstream {seed}")
    for user in range(_USERS):
        plan = chance.choice(_PLANS)
        yield Event("users", BEGIN, {"id": user, "name": f"user {user}", "plan": plan}, "id")
    visitors, absent = list(range(_VISITORS)), list(range(_VISITORS, _USERS))
    for number in range(count):
        place = chance.randrange(_VISITORS)
        if chance.randrange(_STAY // _VISITORS) == 0:
            comes = absent.pop(chance.randrange(len(absent)))
            absent.append(visitors[place])
            visitors[place] = comes
        click: dict[str, Value] = {
            "user_id": visitors[place],
            "page": chance.choice(_PAGES),
            "status": chance.choice(_STATUSES),
            "bytes": chance.randrange(200, 40_000),
        }
        yield Event("clicks", BEGIN + number * _CLICK_EVERY, click, "user_id")


# ------------------------------------------------------------ fraud

_ACCOUNTS = 1_000
_PLACES = ("Bergen", "Cadiz", "Dublin", "Graz", "Lodz", "Lyon", "Porto", "Turin")
_PAYMENT_EVERY = 50
_BURST, _HUGE, _AWAY = 400, 300, 150
"""One in so many payments begins a burst of them, is far larger than the others of its account, is made elsewhere."""


def fraud(count: int, seed: int) -> Iterator[Event]:
    """Payments: an account has its usual amount and place, with exceptions."""
    chance = random.Random(f"fraud {seed}")
    usual = [chance.randrange(500, 20_000) for _ in range(_ACCOUNTS)]
    homes = [chance.choice(_PLACES) for _ in range(_ACCOUNTS)]
    in_haste, left = 0, 0
    for number in range(count):
        if left == 0 and chance.randrange(_BURST) == 0:
            in_haste, left = chance.randrange(_ACCOUNTS), chance.randrange(4, 12)
        if left and chance.randrange(4):
            account, left = in_haste, left - 1
        else:
            account = chance.randrange(_ACCOUNTS)
        amount = round(usual[account] * chance.uniform(0.5, 1.5)) * (1 if chance.randrange(_HUGE) else 25)
        place = homes[account] if chance.randrange(_AWAY) else chance.choice(_PLACES)
        payment: dict[str, Value] = {"account": f"A{account:04}", "id": number, "amount": amount, "place": place}
        yield Event("payments", BEGIN + number * _PAYMENT_EVERY, payment, "account")


# ------------------------------------------------------------ inventory

_ITEMS = 200
_MOVE_EVERY = 100
_ORDERS = 9
"""Orders for each supply, which brings as much as they take, on the average."""


def inventory(count: int, seed: int) -> Iterator[Event]:
    """Items, each with the stock below which it is ordered again, and a first supply; then orders and supplies."""
    chance = random.Random(f"inventory {seed}")
    for item in range(_ITEMS):
        row: dict[str, Value] = {"item": f"I{item:03}", "name": f"item {item}", "least": chance.randrange(20, 60)}
        yield Event("items", BEGIN, row, "item")
        yield Event("supplies", BEGIN, {"item": f"I{item:03}", "quantity": 100}, "item")
    for number in range(count):
        item, time = chance.randrange(_ITEMS), BEGIN + number * _MOVE_EVERY
        if chance.randrange(_ORDERS + 1):
            yield Event("orders", time, {"item": f"I{item:03}", "quantity": chance.randrange(1, 6)}, "item")
        else:
            yield Event("supplies", time, {"item": f"I{item:03}", "quantity": chance.randrange(20, 35)}, "item")


# ------------------------------------------------------------ anomaly

_MACHINES = 50
_READ_EVERY = 20
_SPIKE, _LATE, _SILENT = 700, 100, 1_000
"""One in so many readings is far too high, comes late, is the last one for a while."""


def anomaly(count: int, seed: int) -> Iterator[Event]:
    """Readings of machines, each machine once a second by turns; some come late, some machines are silent at times.

    The time of a record is that at which the reading came; ``measured`` is that at which it was taken (ms since 1970).
    """
    chance = random.Random(f"anomaly {seed}")
    normal = [chance.uniform(40, 80) for _ in range(_MACHINES)]
    silent_until = [0] * _MACHINES
    turn = 0
    for number in range(count):
        time = BEGIN + number * _READ_EVERY
        while silent_until[turn % _MACHINES] > time:
            turn += 1
        machine = turn % _MACHINES
        turn += 1
        if chance.randrange(_SILENT) == 0:
            silent_until[machine] = time + chance.randrange(20 * _SECOND, 90 * _SECOND)
        celsius = normal[machine] + chance.gauss(0, 1) + (0 if chance.randrange(_SPIKE) else 30)
        late = 0 if chance.randrange(_LATE) else chance.randrange(2 * _SECOND, 90 * _SECOND)
        reading: dict[str, Value] = {
            "machine": f"M{machine:02}",
            "celsius": round(celsius, 3),
            "measured": time - late,
        }
        yield Event("readings", time, reading, "machine")
