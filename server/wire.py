"""Bytes in and out: media types, request bodies, JSON.

Source of the rules: ksqlDB manual, "ksqlDB REST API", pages "Content types" of each endpoint.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import orjson
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, ValidationError

from ksqlpy.errors import ConfigProblem, KsqlError, shown

__all__ = [
    "BEHIND_HEADER",
    "DELIMITED",
    "JSON",
    "KSQL_V1",
    "PROTOBUF",
    "ROWS_HEADER",
    "Body",
    "JsonResponse",
    "behind_text",
    "encode",
    "negotiate",
    "parse_body",
    "read_body",
]

BEHIND_HEADER = "ksqlpy-behind"
"""The header of an answer to a pull query that says which queries have still records to read."""

ROWS_HEADER = "ksqlpy-rows"
"""The header of a request by which ksqlpy's own clients have rows in forms that lose nothing and are quick to read."""

BEHIND = 20
"""Queries that it names at most."""

JSON = "application/json"
KSQL_V1 = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"

T = TypeVar("T", bound="Body")


class Body(BaseModel):
    """Base of request bodies: types are strict, and unknown keys, which newer clients send, are ignored.

    ``example``: what a body looks like, for who sent something else.
    """

    example: ClassVar[str]

    model_config = ConfigDict(strict=True, extra="ignore", populate_by_name=True)


def encode(value: object) -> bytes:
    """A value as compact JSON; a Decimal becomes a number with all its digits.

    Raises TypeError for what JSON has no form for.
    """
    try:
        return orjson.dumps(value, default=_number)
    except orjson.JSONEncodeError:  # a rare value that orjson does not take
        return orjson.dumps(_exact(value), default=_number)


def behind_text(behind: Mapping[str, int | None]) -> str:
    """The value of :data:`BEHIND_HEADER`: JSON of ASCII, since ids may have characters that a header must not have.

    It has :data:`BEHIND` queries at most: clients and proxies refuse heads of some kilobytes.
    """
    return json.dumps(dict(itertools.islice(behind.items(), BEHIND)))


def _number(value: object) -> object:
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        # Written out, as ksqlDB does, unless that would be zeros only.
        return orjson.Fragment(format(value, "f") if -40 < value.adjusted() < 40 else str(value))
    raise TypeError(f"no JSON for {type(value).__name__}")


def _exact(value: object) -> object:
    """The value with integers of more than 64 bits and text with lone surrogates as finished JSON."""
    if isinstance(value, dict):
        return {str(k): _exact(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(v) for v in value]
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return orjson.Fragment(text.encode(errors="backslashreplace"))


class JsonResponse(Response):
    """A JSON body, written by :func:`encode`."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        return encode(content)


async def read_body(request: Request, shape: type[T]) -> T:
    """The body of a request, checked; raises ConfigProblem ``bad-request`` (40000) that names the first thing wrong."""
    return parse_body(await request.body(), shape)


def parse_body(text: bytes, shape: type[T]) -> T:
    """The same of a text."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as e:
        hint = f"send an object such as {shape.example}"
        raise ConfigProblem("bad-request", f"the request body is not JSON: {e}", hint=hint) from e
    if not isinstance(data, dict):
        kind = "an array" if isinstance(data, list) else "text" if isinstance(data, str) else "a number or constant"
        hint = f"send an object such as {shape.example}"
        raise ConfigProblem("bad-request", f"the request body must be a JSON object, not {kind}", hint=hint)
    try:
        return shape.model_validate(data)
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        wrong = _WRONG.get(first["type"], f"is wrong: {first['msg']}")
        hint = f"send an object such as {shape.example}"
        raise ConfigProblem("bad-request", f"key {shown(place)} of the request body {wrong}", hint=hint) from e


_WRONG = {
    "missing": "is missing",
    "string_type": "must be text",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "too_long": "has too many elements",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "string_pattern_mismatch": "has characters that are not allowed, or too many of them",
}


def negotiate(request: Request, offered: Sequence[str]) -> str:
    """The offered media type that the ``Accept`` header likes best; without the header the first one.

    Of types that are liked equally, the one that the client names explicitly wins (so that a browser's or a library's
    ``application/json, */*`` gets JSON), then the one it names first. Raises KsqlError ``not-acceptable`` (406).
    """
    header = ",".join(request.headers.getlist("accept")).strip()
    if not header:
        return offered[0]
    best: tuple[float, int, int, int] | None = None
    chosen = ""
    for preference, media_type in enumerate(offered):
        match = _match(header, media_type)
        if match is not None:
            quality, explicit, position = match
            rank = (quality, explicit, -position, -preference)
            if quality > 0 and (best is None or rank > best):
                best, chosen = rank, media_type
    if best is None:
        raise KsqlError(
            "not-acceptable",
            f"this endpoint cannot answer with {header[:200]}",
            hint=f"it can with {', '.join(offered)}",
            error_code=40600,
        )
    return chosen


def _match(header: str, media_type: str) -> tuple[float, int, int] | None:
    """Quality, explicitness (2, 1, 0) and position of the most explicit range that fits the type."""
    found: tuple[int, int, float] | None = None
    for position, part in enumerate(header.split(",")):
        name, *parameters = (p.strip() for p in part.lower().split(";"))
        explicit = {media_type: 2, f"{media_type.split('/')[0]}/*": 1, "*/*": 0, "*": 0}.get(name)
        if explicit is not None and (found is None or explicit > found[0]):
            found = (explicit, position, _quality(parameters))
    return None if found is None else (found[2], found[0], found[1])


def _quality(parameters: Sequence[str]) -> float:
    values: Mapping[str, str] = {k.strip(): v.strip() for k, _, v in (p.partition("=") for p in parameters)}
    try:
        return float(values.get("q", "1"))
    except ValueError:
        return 1.0
