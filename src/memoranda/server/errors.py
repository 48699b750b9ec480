"""Errors as `application/problem+json` (RFC 9457), all from the one error tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memoranda.errors import Denied, InvalidInput, MemorandaError, Unavailable
from memoranda.server.observability import LOGGER

MEDIA_TYPE: Final = "application/problem+json"
URN: Final = "urn:memoranda:"
_TITLES: Final = {
    400: "The request cannot be read",
    403: "The request is not allowed",
    404: "There is no such address",
    405: "The address does not take this method",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The request is no JSON",
    421: "This server does not go by that name",
}
_MOST_PROBLEMS: Final = 20


class Refusal(InvalidInput):
    """A request refused before anybody read what it asks."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def problem_of(error: MemorandaError) -> Response:
    """What a caller is told. What went wrong inside the server stays in its log."""
    status = error.status
    detail = str(error) if status < 500 else _summary(type(error))
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    wait = error.retry_after if isinstance(error, Unavailable) else None
    if wait is not None:
        headers["Retry-After"] = str(max(1, round(wait)))
    title = _TITLES[status] if isinstance(error, Refusal) else _summary(type(error))
    return problem(status, name_of(type(error)), title, detail, headers=headers)


def problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
) -> Response:
    body: dict[str, Any] = {"type": URN + kind, "title": title, "status": status, "detail": detail}
    if errors:
        body["errors"] = list(errors)
    # ASCII alone, so that even what is no valid Unicode can be named.
    return Response(json.dumps(body), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def unexpected() -> Response:
    """The answer to a mistake of our own."""
    return problem(500, "Internal", "The server failed", "an unexpected error; its log has it under the request id")


def answer_to(error: MemorandaError, request_id: str) -> Response:
    """The problem for the caller; what is the server's own trouble goes whole into its log."""
    if error.status >= 500:
        LOGGER.error("failed", exc_info=error, extra={"fields": {"request_id": request_id}})
    return problem_of(error)


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemorandaError)
    return answer_to(error, request.state.request_id)


async def on_index(_: Request, error: Exception) -> Response:
    return problem(422, "IndexError", "There is no message at that position", str(error))


async def on_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, "The request was refused")
    return problem(error.status_code, "Refused", title, error.detail, headers=error.headers)


async def on_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        {"where": [str(step) for step in each["loc"]], "what": each["msg"]} for each in error.errors()[:_MOST_PROBLEMS]
    ]
    detail = "; ".join(f"{'.'.join(each['where'])}: {each['what']}" for each in found[:3])
    return problem(422, name_of(InvalidInput), _summary(InvalidInput), detail, errors=found)


def name_of(kind: type[MemorandaError]) -> str:
    """How the `type` of a problem ends: as the error is called in Python."""
    return (InvalidInput if kind is Refusal else kind).__name__


def _summary(kind: type[MemorandaError]) -> str:
    return (kind.__doc__ or kind.__name__).splitlines()[0].rstrip(".")


def denied(message: str) -> Denied:
    return Denied(message, status=401)
