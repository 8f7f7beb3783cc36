"""Dead letters as lines of JSON, to be shown, mended and given back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ksqlpy.deadletters.letters import Headers, Letter, Letters
from ksqlpy.errors import ConfigProblem

__all__ = ["letter_json", "mended"]


def letter_json(letter: Letter, *, replayed: bool) -> dict[str, Any]:
    """A letter as a JSON object: key and value as text, or under ``key_base64`` and ``value_base64``."""
    return {
        "id": letter.id,
        "query": letter.query,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "timestamp": letter.timestamp,
        "reason": letter.reason,
        **({"result": letter.result} if letter.result is not None else {}),
        **({"copy_of": letter.copy_of} if letter.copy_of is not None else {}),
        **({"cut": letter.cut} if letter.cut is not None else {}),
        **_shown("key", letter.key),
        **_shown("value", letter.value),
        "headers": [{"name": n, **_shown("value", v)} for n, v in letter.headers],
        "replayed": replayed,
    }


def _shown(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def mended(lines: Iterable[str], letters: Letters, name: str) -> list[Letter]:
    """The letters that lines of JSON name by their ``id``, with the keys, values and headers that stand there.

    ``name``: of the file, for errors. Raises ConfigProblem ``bad-letter`` with the number of the line.
    """
    known = {letter.id: letter for letter in letters.letters}
    found: dict[str, Letter] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            letter = known[given["id"]]
            found[letter.id] = replace(
                letter, key=_bytes(given, "key"), value=_bytes(given, "value"), headers=_headers(given, letter)
            )
        except (ValueError, TypeError, KeyError) as e:
            raise ConfigProblem(
                "bad-letter",
                f"{name}:{number}: {_why(e)}",
                hint="a line is one that ksqlpy deadletters show --output json prints, with another key or value",
            ) from e
    return list(found.values())


def _headers(given: Mapping[str, Any], letter: Letter) -> Headers:
    if "headers" not in given:
        return letter.headers
    if not isinstance(given["headers"], list) or not all(isinstance(h, dict) for h in given["headers"]):
        raise ValueError("headers is no list of objects")
    return tuple((str(h["name"]), _bytes(h, "value")) for h in given["headers"])


def _bytes(given: Mapping[str, Any], name: str) -> bytes | None:
    encoded = given.get(f"{name}_base64")
    if encoded is not None:
        return base64.b64decode(encoded, validate=True)
    value = given[name]
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    raise ValueError(f"{name} is not a string")


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        missing = str(error.args[0])
        return f"there is no letter {missing}" if missing[:1].isdigit() else f"it has no {missing}"
    return "it is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
