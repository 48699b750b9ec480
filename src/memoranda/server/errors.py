"""Errors as `application/problem+json` (RFC 9457), derived from the error tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic_core import to_jsonable_python
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memoranda.errors import PROBLEM_URN, Conflict, InvalidInput, InvalidType, MemorandaError, Unavailable, summarize
from memoranda.pydantic_errors import TYPE_ERRORS, describe_mistakes
from memoranda.server.observability import LOGGER
from memoranda.types import Memory

MEDIA_TYPE: Final = "application/problem+json"
_TITLES: Final = {
    400: "The request cannot be parsed",
    403: "The request is not allowed",
    404: "There is no such route",
    405: "The route does not support this method",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The request is not JSON",
    421: "The Host header does not name this server",
}
_MAX_VALIDATION_ERRORS: Final = 20


class RequestRejected(InvalidInput):
    """A request rejected before its content is read."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def error_response(error: MemorandaError, request_id: str) -> Response:
    """Return the problem for the caller. The details of a server error go into the log only."""
    status = error.status
    if status >= 500:
        LOGGER.error("failed", exc_info=error, extra={"fields": {"request_id": request_id}})
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    kind = InvalidInput if isinstance(error, RequestRejected) else type(error)
    title = _TITLES[status] if isinstance(error, RequestRejected) else summarize(kind)
    current = error.current if isinstance(error, Conflict) else None
    return _problem(status, kind.__name__, title, error.public_message(), headers=headers, current=current)


def internal_error_response() -> Response:
    """Return the problem for an unexpected exception."""
    return _problem(
        500, "Internal", "The server failed", "an unexpected error; the server's log has it under the request id"
    )


async def handle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemorandaError)
    return error_response(error, request.state.request_id)


async def handle_index_error(_: Request, error: Exception) -> Response:
    return _problem(422, "IndexError", "There is no message at that position", str(error))


async def handle_http_exception(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, "The request was refused")
    return _problem(error.status_code, "Refused", title, error.detail, headers=error.headers)


async def handle_validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = error.errors()[:_MAX_VALIDATION_ERRORS]
    kind = InvalidType if all(item["type"] in TYPE_ERRORS for item in found) else InvalidInput
    mistakes = describe_mistakes(found, skip=1)  # where in the request it was
    errors = [{"where": name.split("."), "what": what} for name, what in mistakes.items()]
    detail = "; ".join(f"{name} {what}".strip() for name, what in list(mistakes.items())[:3])
    return _problem(422, kind.__name__, summarize(kind), detail, errors=errors)


def _problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
    current: Memory | None = None,
) -> Response:
    body: dict[str, Any] = {"type": PROBLEM_URN + kind, "title": title, "status": status, "detail": detail}
    if errors:
        body["errors"] = list(errors)
    if current is not None:
        body["current"] = to_jsonable_python(current)
    # `json.dumps` writes ASCII only, so the detail may quote text that is not valid Unicode.
    return Response(json.dumps(body), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)
