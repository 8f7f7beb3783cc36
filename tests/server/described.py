"""Requests that schemathesis makes of the OpenAPI text of a server, and what is wrong with the answers.

Of texts that are statements few random ones get past the parser: now and then a statement of a list stands in their
place. Nothing is raised at the first fault, so that all are found.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi import checks

__all__ = ["Found", "ask", "grown", "watched"]

PATIENCE = 20.0
"""Seconds without an answer, or without more of it: it hangs."""
MANY = 10_000
"""Requests; from so many on the use of memory tells something."""
SAMPLES = 20

load_all_checks()
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
LATER = '"error_code":50301'
"""In the answer where a number of a command is waited for that never comes: the one failure that is in order."""
TYPES = ["application/json", "application/vnd.ksql.v1+json", "application/vnd.ksqlapi.delimited.v1", "*/*"]
ODD_TYPES = ["", "text/html", ";;;", "application/json;q=x", "application/vnd.ksql.v1+protobuf", "a/b," * 50]

schemathesis.serializer("application/vnd.ksqlapi.delimited.v1")(
    lambda context, value: {"data": json.dumps(value).encode() + b"\n{}\n[]\n"}
)


class Found:
    """What was wrong: how often, by operation and kind, with the first example of each; and what was asked."""

    def __init__(self) -> None:
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.codes: Counter[int] = Counter()
        self.asked: Counter[str] = Counter()

    def note(self, where: str, kind: str, example: str) -> None:
        """Something is wrong."""
        self.wrong[f"{where}: {kind}"] += 1
        self.examples.setdefault(f"{where}: {kind}", example[:2000])

    def __str__(self) -> str:
        told = f"{self.asked.total():,} requests, answers {dict(sorted(self.codes.items()))}"
        wrong = [f"{count} x {what}\n    {self.examples[what]}" for what, count in self.wrong.most_common()]
        return "\n".join([told, *wrong])


def ask(
    url: str,
    count: int,
    *,
    statements: Sequence[str],
    logins: Sequence[Mapping[str, str]] = ({},),
    leave_out: Sequence[str] = (),
    meanwhile: Callable[[int], object] = lambda number: None,
    number: int = 0,
) -> Found:
    """Sends so many requests. ``statements``: what stands in the place of texts; ``logins``: headers, one in turn.

    ``leave_out``: paths that are not asked; ``meanwhile``: is called ahead of each request; ``number``: another one
    gives other requests.
    """
    found = Found()
    session = requests.Session()
    session.trust_env = False
    text = session.get(f"{url}/openapi.json", headers=dict(logins[0]), timeout=PATIENCE).json()
    text["paths"] = {path: _without_tuples(of) for path, of in text["paths"].items() if path not in leave_out}
    schema = schemathesis.openapi.from_dict(text)
    operations = [result.ok() for result in schema.get_all_operations()]
    cases = [operation.as_strategy(mode) for operation in operations for mode in GenerationMode]
    accepts = st.one_of(st.none(), st.sampled_from(TYPES), st.sampled_from(TYPES), st.sampled_from(ODD_TYPES))

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(cases), accepts, st.sampled_from(logins), st.one_of(st.none(), st.sampled_from(statements)))
    def one(case: Case, accept: str | None, login: Mapping[str, str], statement: str | None) -> None:
        meanwhile(found.asked.total())
        where = f"{case.method} {case.path}"
        found.asked[where] += 1
        if statement is not None and isinstance(case.body, dict):
            for key in ("ksql", "sql", "text"):
                if isinstance(case.body.get(key), str):
                    case.body[key] = statement
        headers = {**login, **({} if accept is None else {"Accept": accept})}
        _one(case, url, session, headers, found, where)

    one()
    return found


def _without_tuples(of: Any) -> Any:
    """Without ``prefixItems``, which schemathesis takes for another draft of JSON Schema and then refuses."""
    if isinstance(of, dict):
        return {name: _without_tuples(value) for name, value in of.items() if name != "prefixItems"}
    return [_without_tuples(value) for value in of] if isinstance(of, list) else of


def _one(case: Case, url: str, session: requests.Session, headers: dict[str, str], found: Found, where: str) -> None:
    shown = f"{case.body!r:.300} {headers}"
    try:
        response = case.call(base_url=url, session=session, headers=headers, timeout=PATIENCE)
    except requests.Timeout:
        found.note(where, "no answer", shown)
        return
    except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as e:
        found.note(where, "the connection broke", f"{shown} {e}")
        return
    found.codes[response.status_code] += 1
    if response.status_code >= 500 and LATER not in response.text:
        found.note(where, f"{response.status_code}", f"{shown}\n    {response.text[:300]}")
    try:
        case.validate_response(response, checks=CHECKS, headers=headers)
    except FailureGroup as e:
        for failure in e.exceptions:
            kind = failure.title if isinstance(failure, Failure) else type(failure).__name__
            found.note(where, f"{response.status_code} {kind}", f"{shown}\n    {failure}\n    {response.text[:300]}")


def watched(pid: int, count: int) -> tuple[list[Mapping[str, float]], Callable[[int], None]]:
    """What a process uses while it is asked so often, and what to call ahead of each request, with its number."""
    samples: list[Mapping[str, float]] = []
    process = psutil.Process(pid)

    def look(number: int) -> None:
        if number * SAMPLES >= count * len(samples):
            memory, threads, files = process.memory_info().rss / 2**20, process.num_threads(), process.num_fds()
            samples.append({"memory": memory, "threads": threads, "files": files})

    return samples, look


def grown(samples: Sequence[Mapping[str, float]], count: int) -> list[str]:
    """What has grown in the second half, where there were so many requests that it tells something; prints all."""
    for what in samples[0]:
        print(f"{what}: {' '.join(f'{sample[what]:.0f}' for sample in samples)}")
    if count < MANY:
        return []
    half, end = samples[len(samples) // 2], samples[-1]
    room = {"memory": half["memory"] * 0.05 + 5, "threads": 4, "files": 4}
    return [f"{what} from {half[what]:.0f} to {end[what]:.0f}" for what in half if end[what] > half[what] + room[what]]
