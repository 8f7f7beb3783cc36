"""Events of an auction site, after the published specification of NEXMark: people, auctions, and bids on them.

Of 50 events one is a new person, three are new auctions and 46 are bids. Three in four auctions are of a hot seller,
half of the bids are on a hot auction and three in four by a hot bidder; the others are spread over those that are
active, and a few beyond them, so that a bid may come before its auction. Prices span six decades evenly in their
logarithm. The same seed gives the same events.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

from bench.suite import Event, Value

__all__ = ["BEGIN", "events"]

BEGIN = 1_436_918_400_000
"""The time of the first event, in ms since 1970."""

_OF = 50
_PEOPLE, _AUCTIONS = 1, 3
"""Of 50 events."""

_FIRST_PERSON = _FIRST_AUCTION = 1000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_IN_FLIGHT, _ACTIVE, _LEAD = 100, 1000, 10
_HOT = 100
"""One in so many people and auctions is the hot one of its time."""
_HOT_AUCTIONS, _HOT_SELLERS, _HOT_BIDDERS = 2, 4, 4
"""All but one in so many choices are hot."""
_CHANNELS = 10_000
_SIZES = {"person": 200, "auction": 500, "bid": 100}
"""Bytes of an event, on the average."""

_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_GIVEN = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_FAMILY = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")


def events(count: int, *, seed: int = 1, rate: int = 1000) -> Iterator[Event]:
    """The first ``count`` events; ``rate``: events in a second."""
    chance = random.Random(seed)
    for number in range(count):
        time = BEGIN + number * 1000 // rate
        place = number % _OF
        if place < _PEOPLE:
            yield Event("person", time, _person(chance, number, time), "id")
        elif place < _PEOPLE + _AUCTIONS:
            yield Event("auction", time, _auction(chance, number, time, rate), "id")
        else:
            yield Event("bid", time, _bid(chance, number, time))


# ------------------------------------------------------------ which people and auctions there are


def _last_person(number: int) -> int:
    """The number of the last person at an event, from 0 on."""
    return number // _OF


def _last_auction(number: int) -> int:
    """The number of the last auction at an event, from 0 on; -1 before the first."""
    return number // _OF * _AUCTIONS + min(number % _OF - _PEOPLE, _AUCTIONS - 1)


def _any_person(chance: random.Random, number: int) -> int:
    people = _last_person(number) + 1
    active = min(people, _ACTIVE)
    return people - active + chance.randrange(active + _LEAD)


def _any_auction(chance: random.Random, number: int) -> int:
    last = _last_auction(number)
    first = max(last - _IN_FLIGHT, 0)
    return first + chance.randrange(last - first + 1 + _LEAD)


# ------------------------------------------------------------ events


def _price(chance: random.Random) -> int:
    return round(10 ** (chance.random() * 6) * 100)


def _text(chance: random.Random, length: int) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=length))


def _extra(chance: random.Random, topic: str, taken: int) -> str:
    """A text that makes events as large as they are to be on the average, give or take a fifth."""
    missing = max(0, _SIZES[topic] - taken)
    return _text(chance, missing * 4 // 5 + chance.randrange(missing * 2 // 5 + 1))


def _person(chance: random.Random, number: int, time: int) -> dict[str, Value]:
    name = f"{chance.choice(_GIVEN)} {chance.choice(_FAMILY)}"
    email = f"{_text(chance, 7)}@{_text(chance, 5)}.com"
    card = " ".join(f"{chance.randrange(10_000):04}" for _ in range(4))
    city, state = chance.choice(_CITIES), chance.choice(_STATES)
    taken = 16 + len(name) + len(email) + len(card) + len(city) + len(state)
    return {
        "id": _FIRST_PERSON + _last_person(number),
        "name": name,
        "email": email,
        "credit_card": card,
        "city": city,
        "state": state,
        "date_time": time,
        "extra": _extra(chance, "person", taken),
    }


def _auction(chance: random.Random, number: int, time: int, rate: int) -> dict[str, Value]:
    hot = chance.randrange(_HOT_SELLERS) > 0
    seller = _last_person(number) // _HOT * _HOT if hot else _any_person(chance, number)
    first = _price(chance)
    item, description = _text(chance, 20), _text(chance, 100)
    open_for = _IN_FLIGHT * _OF // _AUCTIONS * 1000 // rate  # until so many later auctions are there
    return {
        "id": _FIRST_AUCTION + _last_auction(number),
        "item_name": item,
        "description": description,
        "initial_bid": first,
        "reserve": first + _price(chance),
        "date_time": time,
        "expires": time + 1 + chance.randrange(max(open_for * 2, 1)),
        "seller": _FIRST_PERSON + seller,
        "category": _FIRST_CATEGORY + chance.randrange(_CATEGORIES),
        "extra": _extra(chance, "auction", 56 + len(item) + len(description)),
    }


def _bid(chance: random.Random, number: int, time: int) -> dict[str, Value]:
    hot = chance.randrange(_HOT_AUCTIONS) > 0
    auction = max(_last_auction(number), 0) // _HOT * _HOT if hot else _any_auction(chance, number)
    hot = chance.randrange(_HOT_BIDDERS) > 0
    # The second of a hundred people, so that hot bidders are not hot sellers.
    bidder = _last_person(number) // _HOT * _HOT + 1 if hot else _any_person(chance, number)
    if chance.randrange(2):
        channel = chance.choice(_HOT_CHANNELS)
        url = f"https://www.nexmark.com/{_text(chance, 4)}/{_text(chance, 4)}/{_text(chance, 4)}/item.htm?query=1"
    else:
        which = chance.randrange(_CHANNELS)
        channel = f"channel-{which}"
        url = f"https://www.nexmark.com/{_text(chance, 4)}/{_text(chance, 4)}/{_text(chance, 4)}/item.htm?query=1"
        if chance.randrange(10):
            url += f"&channel_id={which}"
    return {
        "auction": _FIRST_AUCTION + auction,
        "bidder": _FIRST_PERSON + bidder,
        "price": _price(chance),
        "channel": channel,
        "url": url,
        "date_time": time,
        "extra": _extra(chance, "bid", 32),
    }
