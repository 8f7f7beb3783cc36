"""Errors as ksqlDB's REST API shows them.

Source of the rules: ksqlDB manual, "ksqlDB REST API", section "Errors"; the status is the code's first three digits.
"""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy.errors import EngineProblem, KsqlError, StatementError, cut, reason_of
from ksqlpy.server.wire import JsonResponse

__all__ = ["Failures", "add_handlers", "error_body", "error_response", "unforeseen"]


_log = logging.getLogger("ksqlpy.server")


def error_body(error: KsqlError) -> dict[str, Any]:
    """The entity of an error.

    ``message`` is the one line that every client shows. What ksqlDB has no field for stands under ``ksqlpy``: the code,
    the bare message, the place in the text of the request, the hint and the drawing.
    """
    body: dict[str, Any] = {
        "@type": "statement_error" if isinstance(error, StatementError) else "generic_error",
        "error_code": error.error_code,
        "message": error.summary(),
        "stackTrace": [],
    }
    if isinstance(error, StatementError) or error.statement_text is not None:
        body["statementText"] = error.statement_text or error.sql or ""
        body["entities"] = list(error.entities)
    line = column = length = None
    if error.span is not None and error.sql is not None:
        line, column = error.span.position(error.sql)
        length = error.span.end - error.span.start
    body["ksqlpy"] = {
        "code": error.code,
        "message": error.message,
        "line": line,
        "column": column,
        "length": length,
        "hint": error.full_hint,
        "rendered": error.render(),
    }
    return body


def unforeseen(error: Exception) -> KsqlError:
    """A failure that nobody planned for, as an error for the client."""
    if type(error).__module__.partition(".")[0] == "py4j" or isinstance(error, ConnectionError):
        hint = "it is started again by itself: try again soon"
        return EngineProblem("spark-unavailable", "Spark does not answer", hint=hint, error_code=50300)
    return EngineProblem("internal-error", reason_of(error), hint="the server's log has the details")


def add_handlers(app: FastAPI) -> None:
    """Makes every failure of a request an answer of the shape of :func:`error_body`."""

    async def known(request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, KsqlError)
        return error_response(error)

    async def http(request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, HTTPException)
        path = cut(request.url.path)
        messages = {
            404: f"there is no endpoint {path}",
            405: f"the endpoint {path} does not take {request.method}",
        }
        message = messages.get(error.status_code, str(error.detail))
        problem = KsqlError(f"http-{error.status_code}", message, error_code=error.status_code * 100)
        return error_response(problem, error.headers)

    app.add_exception_handler(KsqlError, known)
    app.add_exception_handler(HTTPException, http)


class Failures:
    """Makes a failure that nobody planned for an answer, and an entry of the log with its traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the application; an ASGI application."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as e:
            _log.exception("%s %s failed", scope.get("method"), scope["path"])
            if started or scope["type"] != "http":
                raise
            await error_response(unforeseen(e))(scope, receive, send)


def error_response(error: KsqlError, headers: Any = None) -> JsonResponse:
    """The answer to a request that failed."""
    status = error.error_code // 100
    return JsonResponse(error_body(error), status if 400 <= status <= 599 else 500, headers)
