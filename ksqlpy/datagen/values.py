"""Plausible values for a column, by its type and by what its name says."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from ksqlpy.local.rows import millis
from ksqlpy.types import (
    ALL_DIGITS,
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

__all__ = ["Moment", "key_value", "value_of"]


@dataclass(frozen=True)
class Moment:
    """What the values of one row go by: its time (in UTC), and how many things of a kind there are, such as users."""

    time: datetime
    things: int


def value_of(name: str, type_: SqlType, random: Random, moment: Moment) -> Any:
    """A value for a column or field of that name (see :class:`~ksqlpy.local.rows.Row`)."""
    match type_:
        case ArrayType(item):
            one = name.removesuffix("S").removesuffix("s")
            return [value_of(one, item, random, moment) for _ in range(random.randint(1, 3))]
        case MapType(_, item):
            labels = random.sample(("color", "size", "brand", "origin", "grade"), random.randint(1, 3))
            return {label: value_of(label, item, random, moment) for label in labels}
        case StructType(fields):
            return {n: value_of(n, t, random, moment) for n, t in fields}
    words = _words(name)
    if type_ == STRING:
        return _text(words, name, random, moment)
    if type_ == BOOLEAN:
        return random.random() < 0.5
    if type_ == BYTES:
        return random.randbytes(8)
    if type_ == DATE:
        return _day(words, random, moment)
    if type_ == TIME:
        return time(random.randrange(24), random.randrange(60), random.randrange(60))
    if type_ in (INTEGER, BIGINT):
        return _whole(words, type_, random, moment)
    if type_ == DOUBLE:
        return float(round(_fraction(words, random), 4))
    if isinstance(type_, DecimalType):
        return _decimal(_fraction(words, random), type_, random)
    return moment.time


def key_value(name: str, type_: SqlType, number: int) -> Any:
    """The value of a key column for the thing of that number, from 1: the same each time."""
    if type_ == STRING:
        return f"{_thing(name)}_{number}"
    if type_ in (INTEGER, BIGINT):
        return number
    return value_of(name, type_, Random(f"{name.upper()} {number}"), Moment(_KEYS_AT, 1))


_KEYS_AT = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def _words(name: str) -> frozenset[str]:
    """The words of a name in lower case: of ``unitPrice`` and ``UNIT_PRICE`` unit and price."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    words = re.findall(r"[a-z]+", split.lower())
    return frozenset([*words, "id"] if any(_ID.search(w) for w in words) else words)


_ID = re.compile(r"(?<!pa)(?<!val)(?<!gr)(?<!vo)(?<!sol)(?<!flu)(?<!hum)(?<![ug]u)(?<=.)id$")
"""Ends VENDORID, but not PAID and the like."""


def _thing(name: str) -> str:
    """What an id is of: of USER_ID user."""
    return re.sub(r"[\W_]*(id|key|no|nr)$", "", name.lower()) or name.lower()


# ---------------------------------------------------------------- numbers

_RANGES: Sequence[tuple[frozenset[str], float, float]] = tuple(
    (frozenset(words.split()), low, high)
    for words, low, high in (
        ("latitude lat", -60, 70),
        ("longitude lon lng long", -180, 180),
        ("temperature temp celsius", -10, 40),
        ("fahrenheit", 10, 100),
        ("humidity percent percentage pct battery", 0, 100),
        ("ratio probability share rate", 0, 1),
        ("age", 18, 90),
        ("year", 1990, 2026),
        ("rating stars score", 1, 5),
        ("quantity qty count items passengers passenger units", 1, 10),
        ("price amount total fare cost revenue sum balance salary fee tip tax", 1, 200),
        ("distance miles km", 0, 30),
        ("speed", 0, 130),
        ("weight", 1, 100),
        ("duration latency elapsed ms seconds", 1, 3000),
        ("status", 200, 505),
        ("port", 1024, 65535),
        ("bytes size length", 100, 100_000),
    )
)
_STATUS = (200, 200, 200, 200, 200, 201, 204, 301, 304, 400, 401, 403, 404, 500, 503)


def _range(words: frozenset[str], low: float, high: float) -> tuple[float, float]:
    return next(((a, b) for known, a, b in _RANGES if known & words), (low, high))


def _whole(words: frozenset[str], type_: SqlType, random: Random, moment: Moment) -> int:
    if words & {"id", "key", "no", "nr"}:
        return random.randint(1, moment.things)
    if type_ == BIGINT and (words & {"timestamp", "time", "ts", "millis", "at"}):
        return millis(moment.time)
    if words & {"status", "code"}:
        return random.choice(_STATUS)
    low, high = _range(words, 0, 1000)
    return random.randint(round(low), round(high))


def _fraction(words: frozenset[str], random: Random) -> float:
    low, high = _range(words, 0, 100)
    return random.uniform(low, high)


def _decimal(value: float, type_: DecimalType, random: Random) -> Decimal:
    digits = 10**type_.precision - 1
    scaled = round(Decimal(repr(value)).scaleb(type_.scale, ALL_DIGITS))
    if abs(scaled) > digits:  # the type is too small for what its name says
        scaled = random.randint(0, digits)
    return Decimal(scaled).scaleb(-type_.scale, ALL_DIGITS)


def _day(words: frozenset[str], random: Random, moment: Moment) -> date:
    if words & {"birth", "birthday", "born", "dob"}:
        return date(1940, 1, 1) + timedelta(days=random.randrange(65 * 365))
    return moment.time.date() - timedelta(days=random.randrange(30))


# ---------------------------------------------------------------- texts

_FIRST = ("Ada", "Ben", "Chloe", "Dan", "Emma", "Finn", "Grace", "Hugo", "Iris", "Jack", "Lena", "Max", "Nora", "Omar")
_LAST = ("Adler", "Brown", "Costa", "Dubois", "Evans", "Fischer", "Garcia", "Hansen", "Ito", "Jones", "Kim", "Lopez")
_CITIES = ("Amsterdam", "Berlin", "Chicago", "Delhi", "Lagos", "Lima", "London", "Madrid", "Osaka", "Paris", "Sydney")
_PAGES = ("/", "/about", "/cart", "/checkout", "/help", "/login", "/products", "/search")
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "iris", "jade", "kelp", "lotus")


def _one(*items: str) -> Callable[[Random], str]:
    return lambda random: random.choice(items)


def _address(random: Random) -> str:
    return f"{random.randint(1, 200)} {random.choice(_WORDS).capitalize()} Street"


_TEXTS: Sequence[tuple[frozenset[str], Callable[[Random], str]]] = tuple(
    (frozenset(words.split()), make)
    for words, make in (
        ("uuid guid", lambda r: str(uuid.UUID(int=r.getrandbits(128), version=4))),
        ("email mail", lambda r: f"{r.choice(_FIRST)}.{r.choice(_LAST)}{r.randint(1, 99)}@example.com".lower()),
        ("phone mobile fax", lambda r: f"+1-555-{r.randint(100, 999)}-{r.randint(1000, 9999)}"),
        ("firstname first", _one(*_FIRST)),
        ("lastname last surname family", _one(*_LAST)),
        ("username login handle nickname nick", lambda r: f"{r.choice(_FIRST).lower()}{r.randint(1, 99)}"),
        ("city town place", _one(*_CITIES)),
        ("country nation", _one("BR", "CA", "DE", "ES", "FR", "GB", "IN", "JP", "NL", "US")),
        ("currency", _one("CHF", "EUR", "GBP", "JPY", "USD")),
        ("state region", _one("east", "north", "south", "west")),
        ("street address addr", _address),
        ("zip postcode zipcode postal", lambda r: f"{r.randrange(10_000, 99_999)}"),
        ("ip", lambda r: f"10.{r.randrange(256)}.{r.randrange(256)}.{r.randint(1, 254)}"),
        ("host hostname server machine", lambda r: f"host-{r.randint(1, 20)}"),
        ("url uri link referrer referer", lambda r: f"https://example.com{r.choice(_PAGES)}"),
        ("page path", _one(*_PAGES)),
        ("method verb", _one("GET", "GET", "GET", "POST", "PUT", "DELETE")),
        ("agent browser", _one("Chrome", "Edge", "Firefox", "Safari")),
        ("level severity", _one("DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR")),
        ("status state", _one("new", "open", "paid", "shipped", "done", "cancelled")),
        ("gender sex", _one("female", "male", "other")),
        ("color colour", _one("black", "blue", "green", "red", "white", "yellow")),
        ("size", _one("S", "M", "L", "XL")),
        ("product item article", lambda r: f"{r.choice(_WORDS)} {r.choice(('chair', 'desk', 'lamp', 'mug', 'sofa'))}"),
        ("category kind type group class", _one("alpha", "beta", "gamma", "delta")),
        ("unit", _one("kg", "m", "piece")),
        ("action event", _one("click", "login", "logout", "purchase", "view")),
        ("message description comment text note title body", lambda r: " ".join(r.choices(_WORDS, k=5))),
        ("name person customer driver author", lambda r: f"{r.choice(_FIRST)} {r.choice(_LAST)}"),
    )
)


def _text(words: frozenset[str], name: str, random: Random, moment: Moment) -> str:
    for known, make in _TEXTS:
        if known & words:
            return make(random)
    if words & {"id", "key", "no", "nr", "user", "device", "sensor", "order", "session"}:
        return f"{_thing(name)}_{random.randint(1, moment.things)}"
    if words & {"timestamp", "time", "ts", "at"}:
        return moment.time.replace(tzinfo=None).isoformat("T", "milliseconds") + "Z"
    if words & {"date", "day"}:
        return moment.time.date().isoformat()
    return random.choice(_WORDS)
