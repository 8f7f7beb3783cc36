"""What was decided, and how it is written: a line of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from ksqlpy.access import ASKS, Need, Principal
from ksqlpy.audit.masked import digest, masked
from ksqlpy.errors import KsqlError
from ksqlpy.request import REQUEST, Request

__all__ = ["Decision", "Outcome", "Touched", "lines_of"]

LONGEST = 16_000
"""Characters of a statement that are written."""

REFUSED = frozenset({401, 403, 421, 429})
"""Statuses by which somebody hears that he may not."""


class Outcome(Enum):
    """How it was decided. REFUSED: somebody may not; FAILED: it could not be done."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Touched:
    """Something that a statement is about, resolved. ``right``: what is needed on it; ``topic``: that of a source."""

    kind: str
    name: str
    right: str | None = None
    topic: str | None = None

    @classmethod
    def of(cls, need: Need, topic_of: Callable[[str], str | None] = lambda source: None) -> Touched:
        """What a right is needed on; ``topic_of``: gives that of a source."""
        thing = need.thing
        right = need.right.value if need.right is not None else None
        topic = topic_of(thing.name) if thing.kind == "SOURCE" else None
        return cls(thing.kind.lower(), thing.name, right, topic)


def _asker() -> Principal | None:
    return ASKS.get()


def _request() -> Request | None:
    return REQUEST.get()


@dataclass(frozen=True, slots=True)
class Decision:
    """One line. ``text``: the statement; ``readable``: whether it parses. ``seconds``: what it took.

    ``more``: fields of its kind. Request and principal are those for which the thread works.
    """

    kind: str
    outcome: Outcome
    text: str | None = None
    readable: bool = True
    objects: tuple[Touched, ...] = ()
    error: KsqlError | None = None
    seconds: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    principal: Principal | None = field(default_factory=_asker)
    request: Request | None = field(default_factory=_request)
    at: float = field(default_factory=time.time)

    @classmethod
    def failed(cls, kind: str, error: KsqlError, **fields: Any) -> Decision:
        """What ends with an error."""
        outcome = Outcome.REFUSED if error.error_code // 100 in REFUSED else Outcome.FAILED
        return cls(kind, outcome, error=error, **fields)


def lines_of(decisions: Iterable[Decision], process: str) -> Iterator[bytes]:
    """The lines of decisions; equal ones of a request that follow one another are one line with their ``count``."""
    before: tuple[Request | None, dict[str, Any]] | None = None
    count, seconds = 0, 0.0
    for decision in decisions:
        said = _fields(decision)
        if before is not None and before[0] is decision.request is not None and _same(before[1], said):
            count += 1
            seconds += decision.seconds or 0.0
            continue
        if before is not None:
            yield _line(before[1], process, count, seconds)
        before, count, seconds = (decision.request, said), 1, decision.seconds or 0.0
    if before is not None:
        yield _line(before[1], process, count, seconds)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[name] == other.get(name) for name in one if name != "time") and one.keys() == other.keys()


def _line(fields: dict[str, Any], process: str, count: int, seconds: float) -> bytes:
    said = {"time": fields.pop("time"), "process": process, **fields}
    if count > 1:
        said["count"] = count
    said["ms"] = round(seconds * 1000, 3)
    return json.dumps(said, ensure_ascii=True).encode() + b"\n"


def _fields(decision: Decision) -> dict[str, Any]:
    at = datetime.fromtimestamp(decision.at, UTC)
    who, request, error = decision.principal, decision.request, decision.error
    said: dict[str, Any] = {
        "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "request": None if request is None else request.id,
        "principal": None if who is None else who.name,
        "roles": [] if who is None else sorted(who.roles),
        "how": None if who is None else who.how,
        "address": None if request is None else request.address,
        "endpoint": None if request is None or not request.endpoint else request.endpoint,
        "kind": decision.kind,
    }
    if decision.text is not None:
        said |= _statement(decision)
    if decision.objects:
        said["objects"] = [_touched(o) for o in decision.objects]
    said["decision"] = decision.outcome.value
    if error is not None:
        said |= {"error_code": error.error_code, "error": error.code}
    return said | dict(decision.more)


def _statement(decision: Decision) -> dict[str, Any]:
    text = decision.text or ""
    if decision.readable:
        found = masked(text, names=decision.outcome is not Outcome.ALLOWED)
        if found is not None:
            return {"statement": found if len(found) <= LONGEST else f"{found[:LONGEST]}…"}
    return {"length": len(text), "digest": digest(text)}


def _touched(one: Touched) -> dict[str, str]:
    said = {"kind": one.kind, "name": one.name, "right": one.right, "topic": one.topic}
    return {name: value for name, value in said.items() if value is not None and value != ""}
