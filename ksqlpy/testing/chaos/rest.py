"""The requests that the harness makes of the server."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

import httpx

from ksqlpy.errors import EngineProblem, EnvironmentProblem

__all__ = ["Rest"]

WAIT = 120.0
"""Seconds that an answer may take: a statement makes topics and starts a query, also on a busy machine."""


class Rest:
    """A connection to the server at ``url``; a context manager.

    It stands beside :mod:`ksqlpy.client`, which lies right of this package, and does less.
    """

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(WAIT, connect=5), trust_env=False, verify=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.close()

    def is_ready(self) -> bool:
        """Whether the server takes statements."""
        try:
            return self._http.get("/info", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def statements(self, sql: str, patience: float = 0.0) -> list[dict[str, Any]]:
        """Runs statements and gives their entities.

        ``patience``: seconds for which a server that cannot do it now (status 5xx) is asked again. Raises EngineProblem
        ``refused`` with what the server said, EnvironmentProblem ``server-away``.
        """
        deadline = time.monotonic() + patience
        try:
            while True:
                answer = self._http.post("/ksql", json={"ksql": sql, "streamsProperties": {}})
                if answer.status_code < 500 or time.monotonic() > deadline:
                    break
                time.sleep(0.5)
        except httpx.TransportError as e:
            raise EnvironmentProblem(
                "server-away", f"the server did not answer to {sql}: {e or type(e).__name__}"
            ) from e
        if answer.status_code >= 400:
            raise EngineProblem("refused", f"the server refused {sql}: {_said(answer)}")
        entities: list[dict[str, Any]] = answer.json()
        return entities

    def queries(self) -> dict[str, str]:
        """The states of all persistent queries by their ids; raises as :meth:`statements`."""
        (entity,) = self.statements("SHOW QUERIES;")
        return {q["id"]: q["state"] for q in entity["queries"]}


def _said(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.text[:200]}"
