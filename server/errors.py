"""Errors as ksqlDB's REST API shows them.

Source of the rules: ksqlDB manual, "ksqlDB REST API", section "Errors"; the status is the code's first three digits.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException

from ksqlpy.errors import EngineProblem, KsqlError, StatementError
from ksqlpy.server.wire import JsonResponse

__all__ = ["add_handlers", "error_body", "unforeseen"]


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
    return EngineProblem("internal-error", f"{type(error).__name__}: {error}", hint="the server's log has the details")


def add_handlers(app: FastAPI) -> None:
    """Makes every failure of a request an answer of the shape of :func:`error_body`."""

    async def known(request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, KsqlError)
        return _response(error)

    async def http(request: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, HTTPException)
        await request.body()  # as at the beginning of every endpoint
        messages = {
            404: f"there is no endpoint {request.url.path}",
            405: f"the endpoint {request.url.path} does not take {request.method}",
        }
        message = messages.get(error.status_code, str(error.detail))
        problem = KsqlError(f"http-{error.status_code}", message, error_code=error.status_code * 100)
        return _response(problem, error.headers)

    async def unknown(request: Request, error: Exception) -> JsonResponse:
        return _response(unforeseen(error))

    app.add_exception_handler(KsqlError, known)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unknown)  # raised again after the answer, so that the log has it


def _response(error: KsqlError, headers: Any = None) -> JsonResponse:
    status = error.error_code // 100
    return JsonResponse(error_body(error), status if 400 <= status <= 599 else 500, headers)
