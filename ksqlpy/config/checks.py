"""Checks of the values of properties: each gives the canonical text, or raises ValueError with what is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ksqlpy.formats import FORMATS
from ksqlpy.topicnames import checked_topic_name

__all__ = [
    "LEVELS",
    "file",
    "format_name",
    "guarantee",
    "hosts",
    "idle",
    "integer",
    "levels",
    "limit",
    "memory",
    "name",
    "one_of",
    "origins",
    "prefix",
    "text",
    "topic",
]


LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")
"""Levels of loggers, by their names in Java."""


def text(value: str) -> str:
    return value


def one_of(*allowed: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        for a in allowed:
            if value.lower() == a.lower():
                return a
        raise ValueError(f"must be one of {', '.join(allowed)}")

    return check


def file(value: str) -> str:
    # Whole, since a reader process has another working directory.
    return value and str(Path(value.strip()).expanduser().absolute())


def levels(value: str) -> str:
    pairs = [p.strip() for p in value.split(",") if p.strip()]
    if len(pairs) > 100 or not all(re.fullmatch(r"[A-Za-z_][\w.$-]{0,200}\s*=\s*[A-Za-z]{3,8}", p) for p in pairs):
        raise ValueError("must be names of loggers with levels, such as root=INFO, org.apache.spark=DEBUG")
    named = {name.strip(): level.strip().upper() for name, level in (p.split("=") for p in pairs)}
    named = {name: {"WARNING": "WARN", "CRITICAL": "FATAL"}.get(level, level) for name, level in named.items()}
    for level in named.values():
        one_of(*LEVELS)(level)
    return ",".join(f"{name}={level}" for name, level in named.items())


def format_name(value: str) -> str:
    return one_of(*FORMATS)(value)


def integer(low: int, high: int) -> Callable[[str], str]:
    def check(value: str) -> str:
        number = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,20}\s*", value) else None
        if number is None or not low <= number <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return str(number)

    return check


def limit(value: str) -> str:
    return value and integer(1, 2**31 - 1)(value)


def idle(value: str) -> str:
    return value and integer(1, 2**53)(value)


def guarantee(value: str) -> str:
    # Kafka Streams' names, of which the newer ones stand for newer protocols.
    name = value.strip().lower()
    if name in ("exactly_once", "exactly_once_v2", "exactly_once_beta"):
        return "exactly_once"
    if name == "at_least_once":
        return name
    raise ValueError("must be one of exactly_once, at_least_once")


def memory(value: str) -> str:
    if not (value[:-1].isascii() and value[:-1].isdigit() and value[-1:] in "mgMG"):
        raise ValueError("must be a size such as 1g or 800m")
    if int(value[:-1]) * (1024 if value[-1] in "gG" else 1) < 450:
        raise ValueError("must be 450m at least: Spark does not start with less")
    return value.lower()


def process_memory(value: str) -> str:
    if not (value[:-1].isascii() and value[:-1].isdigit() and value[-1:] in "mgMG"):
        raise ValueError("must be a size such as 1g or 800m")
    if int(value[:-1]) * (1024 if value[-1] in "gG" else 1) < 64:
        raise ValueError("must be 64m at least: Python does not start with less")
    return value.lower()


def prefix(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{0,100}", value):
        raise ValueError("may hold up to 100 letters (a to z), digits, '.', '_' and '-' only")
    return value


def hosts(value: str) -> str:
    names = [n.strip().lower().strip("[]") for n in value.split(",") if n.strip()]
    if not all(re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*", n) for n in names):
        raise ValueError("must be names or addresses without ports, with commas between them")
    return ",".join(names)


def origins(value: str) -> str:
    origins = [o.strip().lower().removesuffix("/") for o in value.split(",") if o.strip()]
    # Not "*" and not "null": either would let any page of any site run statements.
    if not all(re.fullmatch(r"[a-z][a-z0-9+.-]*://[a-z0-9._:\[\]-]+", o) for o in origins):
        raise ValueError("must be origins such as https://console.example:3000, with commas between them")
    usual = {"http": ":80", "https": ":443"}  # browsers leave it out
    return ",".join(o.removesuffix(usual.get(o.partition(":")[0], "/")) for o in origins)


def name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,100}", value):
        raise ValueError("must be a name of letters (a to z), digits and '_'")
    return value.upper()


def topic(value: str) -> str:
    try:
        return value and checked_topic_name(value)
    except ValueError as e:
        raise ValueError(f"must be {e}") from e
